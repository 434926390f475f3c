import csv
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.golden import golden
from tests.report.experts.measured import (
    BASE,
    DENSE,
    LANGS,
    PAIRS,
    Made,
    cells,
    compared,
    differences,
    lower,
    outcome,
    partition,
    seen,
)
from tongues.core.pages import Tiles, as_text, write_page
from tongues.evaluate.evaluation import Evaluation
from tongues.experts.partition.partition import Partition, of_languages
from tongues.experts.partition.tree import by_tree
from tongues.report.experts.answer import expert_answer, expert_tiles
from tongues.report.experts.partition import cluster_table, partition_lead, partition_page
from tongues.report.experts.view import expert_figures, expert_tables, experts_page

AMOUNTS = (1000, 2000, 4000, 8000)
WITH_TABLES = ("experts are better", "no intervals, experts lower", "an added language")
WITH_TABLES += ("a dense model alone", "the dense model is better")


def added_outcome() -> dict[str, Any]:
    """`qad` added to experts of three languages from its donor `qac`."""
    known = {lang: loss - 0.5 for lang, loss in BASE.items() if lang != "qad"}
    before = [{"qaa": 1.0, "qab": 1.0}, {"qac": 1.0}]
    rises = dict.fromkeys(LANGS, 0.25)
    old = [(f"e{number}", of, rises) for number, of in enumerate(before)]
    own = dict(zip(LANGS, (0.5, 0.5, -0.5, -1.0), strict=True))
    new = ("qad-s1", {"qac": 1.0, "qad": 1.0}, own)
    settings = [
        Made("seed", "", 1, 1.0, BASE),
        Made("before", "language", 2, 1.0, known),
        Made("before", "filter:1", 2, 1.0, lower(BASE, 0.5, 0.5, 0.5, -0.25)),
        Made("added", "language", 3, 1.0, lower(BASE, 0.5, 0.5, 0.5, 1.0)),
        Made("added", "filter:1", 3, 1.0, lower(BASE, 0.5, 0.5, 0.5, 0.875)),
    ]
    shares = {"before": before, "added": [dict.fromkeys(LANGS, 1.0)]}
    return outcome(settings, [*cells("before", old), *cells("added", [*old, new])], shares)


def untested(plain: dict[str, Any], needed: str, **about: Any) -> dict[str, Any]:
    """The same of too few documents."""
    for each in differences(plain):
        each |= {"p": 0.9, "reason": f"{needed} independent documents are needed"} | about
    return plain


def without_intervals(sign: int) -> dict[str, Any]:
    """Of five documents, where the experts' mean is lower than the dense model's, or higher."""
    plain = untested(compared(0.05, amounts=AMOUNTS), "6", low=None, high=None, p=None)
    for losses in plain["texts"]["text"]["losses"].values():
        for of in losses.values():
            of["documents"] = 5
    for each in plain["texts"]["text"]["compared"]:
        each["mean"]["value"] *= sign
    return plain


def seeds_that_disagree() -> dict[str, Any]:
    plain = compared(0.05)
    for name, losses in plain["texts"]["text"]["losses"].items():
        away = 0.08 if name == "dense" else 0.0
        for of in losses.values():
            of["of_members"] = [of["nats_per_token"] - away, of["nats_per_token"] + away]
    return plain


@cache
def cases() -> dict[str, dict[str, Any]]:
    """Evaluations of which each answers otherwise, by what is special in it."""
    tokenizer, twice = compared(0.05), compared(0.05)
    tokenizer["experts"]["same_tokenizer"] = False
    same = partition("near-2", list(reversed(PAIRS)))
    twice["experts"]["partitions"]["near-2"] = same
    alone = [("e0", dict.fromkeys(LANGS, 1.0), dict.fromkeys(LANGS, -0.5))]
    dense = outcome(
        [Made("seed", "", 1, 1.0, BASE), Made("dense", "", 1, 1.0, DENSE)],
        cells("dense", alone),
        {"dense": [dict.fromkeys(LANGS, 1.0)]},
    )
    return {
        "experts are better": compared(0.05),
        "the dense model is better": compared(-0.05),
        "no significant difference": compared(0.005),
        "too few documents for so many comparisons": untested(compared(0.05), "9"),
        "no intervals, experts lower": without_intervals(1),
        "no intervals, experts higher": without_intervals(-1),
        "seeds that disagree": seeds_that_disagree(),
        "a base of another tokenizer": tokenizer,
        "the same clusters by two ways": twice,
        "an added language": added_outcome(),
        "an added language that is not tested": untested(added_outcome(), "9"),
        "a dense model alone": dense,
    }


@pytest.mark.parametrize("name", cases())
def test_the_answer_and_its_tables(name: str) -> None:
    experts = seen(cases()[name])
    said = [f"{topic}\n" + "\n".join(each) for topic, each in expert_answer(experts).items()]
    said.append(as_text([Tiles(expert_tiles(experts))]))
    tables = expert_tables(experts) if name in WITH_TABLES else {}
    said += [f"{title}\n{as_text([table])}" for title, table in tables.items()]
    golden(f"experts-page/{name}", "\n\n".join(said))


def test_what_each_expert_forgot_is_drawn() -> None:
    heat = expert_figures(seen(compared(-0.05)))["forgetting"]
    assert [(row["expert"], row["learned"]) for row in heat.rows if row["lang"] == "qac"] == [
        ("0: qaa, qab", False),
        ("1: qac, qad", True),
    ]
    assert set(expert_figures(seen(cases()["a dense model alone"]))) == {"forgetting"}


def test_forgetting_goes_by_what_the_base_read_or_by_the_amount_of_text() -> None:
    assert "unlearned" not in expert_figures(seen(compared(0.05)))  # amounts are the same
    plain = compared(0.05, amounts=AMOUNTS)
    drawn = expert_figures(seen(plain))["unlearned"]
    assert "ρ = +1.00, p = 0.083, 4 languages" in drawn.caption  # rises grow with the amount
    assert {row["amount"] for row in drawn.rows} == set(AMOUNTS)
    assert "is not known" in drawn.caption
    # of qad, which is most in the experts' text and was forgotten most, the base read nothing
    plain["experts"]["base_shares"] = dict(zip(LANGS, (0.5, 0.3, 0.2, 0.0), strict=True))
    drawn = expert_figures(seen(plain))["unlearned"]
    assert "against its share of the base's training" in drawn.caption
    assert "ρ = −1.00, p = 0.083, 4 languages" in drawn.caption
    assert [row["amount"] for row in drawn.rows if row["language"] == "qad"] == [0.0]
    plain["experts"]["base_shares"] = dict.fromkeys(LANGS, 0.25)
    assert "unlearned" not in expert_figures(seen(plain))


def test_a_page_with_its_files(tmp_path: Path) -> None:
    found = Evaluation.from_json(compared(0.05))
    page = write_page(experts_page(found, "family"), tmp_path / "family-experts")
    text = page.read_text(encoding="utf-8")
    assert "<h1>Language experts: family</h1>" in text
    files = sorted(path.stem for path in (page.parent / "figures").glob("*.svg"))
    assert files == ["cost", "forgetting", "shares"]
    assert re.findall(r'<figure id="([a-z]+)"', text) == list(expert_figures(seen(compared(0.05))))
    with (page.parent / "figures" / "cost.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["routing"] for row in rows] == ["filter:1", "tfidf:1", "tfidf"]
    numbers = json.loads((page.parent / "report.json").read_text(encoding="utf-8"))
    assert numbers["texts"] == found.to_json()["texts"]


PLACES = {"qaa": 0, "qab": 1, "qac": 7, "qad": 9, "qae": 30}
DISTANCES = {a: {b: float(abs(PLACES[a] - PLACES[b])) for b in PLACES} for a in PLACES}
TEXT = {"qaa": 4e6, "qab": 3e6, "qac": 2e6, "qad": 1e6, "qae": 5e5}


def table_rows(out: Path, name: str) -> list[dict[str, str]]:
    with (out / "figures" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_tree_of_languages(tmp_path: Path) -> None:
    partition = by_tree("typology", DISTANCES, 2, notes=("`qae` is far",))
    page = write_page(partition_page(partition, TEXT), tmp_path / "page")
    text = page.read_text(encoding="utf-8")
    assert "The text of 5 languages in 2 clusters, by typology" in text
    assert '<span class="lang">qae</span> is far' in text
    assert sorted(path.name for path in (page.parent / "figures").glob("*.svg")) == [
        "distances.svg"
    ]
    assert len(table_rows(page.parent, "distances")) == 20
    numbers = json.loads((page.parent / "report.json").read_text(encoding="utf-8"))
    assert Partition.from_json({name: numbers[name] for name in partition.to_json()}) == partition


def test_topics_spread_languages_over_clusters(tmp_path: Path) -> None:
    shares = ({"qaa": 0.75, "qab": 1.0}, {"qaa": 0.25, "qab": 0.0})
    partition = Partition("topics", (("qaa", "qab"),) * 2, shares)
    page = write_page(partition_page(partition, TEXT), tmp_path / "page")
    drawn = {(row["cluster"], row["language"]): row for row in table_rows(page.parent, "shares")}
    assert set(drawn) == {("0", "qaa"), ("0", "qab"), ("1", "qaa")}
    assert float(drawn["1", "qaa"]["tokens"]) == 1e6
    text = page.read_text(encoding="utf-8")
    assert as_text([cluster_table(partition, TEXT)]).splitlines() == [
        "cluster  languages        tokens  of all",
        "      0  qab, qaa 75.0 %      6M  85.7 %",
        "      1  qaa 25.0 %           1M  14.3 %",
    ]
    assert "1.71 times" in text  # (0.75 · 4 + 3) of 7 million tokens, times 2


def test_one_cluster_has_a_page_too(tmp_path: Path) -> None:
    partition = of_languages("dense", [["qaa"]])
    assert partition_lead(partition) == "The text of 1 language in one cluster, for one model."
    write_page(partition_page(partition, TEXT), tmp_path / "page")


def test_distances_of_topics_know_no_clusters_and_no_tree(tmp_path: Path) -> None:
    halves = (dict.fromkeys(PLACES, 0.5),) * 2
    partition = Partition("topics", (tuple(PLACES),) * 2, halves, distances=DISTANCES)
    page = write_page(partition_page(partition, TEXT), tmp_path / "page")
    assert {row["kind"] for row in table_rows(page.parent, "distances")} == {"distance"}
    assert "order of the merges" not in page.read_text(encoding="utf-8")
