import copy
import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from tests.report.experts.measured import (
    DENSE,
    LANGS,
    PAIRS,
    SEED,
    cells,
    compared,
    evaluation_of,
    lower,
    outcome,
    seen,
    setting,
    told_apart,
)
from tongues.errors import UserError
from tongues.pages import page_as_html, write_page
from tongues.report.experts.answer import expert_answer
from tongues.report.experts.figures import expert_figures
from tongues.report.experts.view import expert_tables, experts_page


def rows_of(plain: dict[str, Any], title: str) -> list[list[str]]:
    """The head and cells of a table of the page, as a reader sees them."""
    table = expert_tables(seen(plain))[title]
    head = [column.head.plain for column in table.columns]
    return [head, *([cell.plain for cell in row] for row in table.cells)]


def added_outcome() -> dict[str, Any]:
    """`qad` added to experts of three languages from its donor `qac`."""
    known = {lang: loss - 0.5 for lang, loss in SEED.items() if lang != "qad"}
    before = [{"qaa": 1.0, "qab": 1.0}, {"qac": 1.0}]
    rises = dict.fromkeys(LANGS, 0.25)
    old = [(f"e{number}", of, rises) for number, of in enumerate(before)]
    new = (
        "qad-s1",
        {"qac": 1.0, "qad": 1.0},
        dict(zip(LANGS, (0.5, 0.5, -0.5, -1.0), strict=True)),
    )
    settings = [
        setting("seed", "", 1, 1.0, SEED),
        setting("before", "language", 2, 1.0, known),
        setting("before", "filter:1", 2, 1.0, lower(SEED, 0.5, 0.5, 0.5, -0.25)),
        setting("added", "language", 3, 1.0, lower(SEED, 0.5, 0.5, 0.5, 1.0)),
        setting("added", "filter:1", 3, 1.0, lower(SEED, 0.5, 0.5, 0.5, 0.875)),
    ]
    for one in settings[3:]:
        for lang, of in one["languages"].items():
            other = settings[2]["languages"][lang]["loss"] - of["loss"]
            ends = {"low": other - 0.01, "high": other + 0.01, "routing": "filter:1"}
            ends["p"] = told_apart(other, 0.01)
            of["less_than_before"] = {"mean": other, **ends}
    forgetting = [*cells("before", old), *cells("added", [*old, new])]
    return outcome(settings, forgetting, {"before": before, "added": [dict.fromkeys(LANGS, 1.0)]})


def test_numbers_of_the_tables() -> None:
    plain = compared(-0.05)
    head, base, dense, text, *_ = rows_of(plain, "Partitions and routings")
    assert head[5:7] == ["versus base", "versus dense"]
    assert base[:3] == ["base", "", f"{sum(SEED.values()) / 4:.3f}"]
    assert dense[5:7] == ["−0.719 [−0.729, −0.709]", ""]
    mean = sum(math.exp(loss + 0.05) for loss in DENSE.values()) / 4
    assert text[1:] == [
        "filter:1",
        "2.675",
        f"{mean:.1f}",
        "1.337",  # half of 2.675 in binary
        "−0.669 [−0.679, −0.659]",
        "+0.050 [0.040, 0.060]",
        "2",
        "1.00",
        "250 µs",
        "3 MB",
    ]
    _, first, *_ = rows_of(plain, "Languages")
    values = ["4.000", "3.000", "3.050", "1 dense", "typology-2, filter:1", "+0.050 [0.040, 0.060]"]
    assert first == ["qaa", *values]


def test_routings_that_are_gone_are_left_out_of_older_evaluations() -> None:
    plain = compared(-0.05)
    plain["settings"].append(setting("typology-2", "posterior", 2, 2.0, lower(DENSE, *[9] * 4)))
    assert rows_of(plain, "Partitions and routings") == rows_of(
        compared(-0.05), "Partitions and routings"
    )


def test_what_was_forgotten() -> None:
    plain = compared(-0.05)
    _, row = rows_of(plain, "Forgetting")
    assert row == ["typology-2", "4 of 8", "50.0 %", "0.688"]
    heat = expert_figures(seen(plain))["forgetting"]
    assert [(row["expert"], row["learned"]) for row in heat.rows if row["lang"] == "qac"] == [
        ("0: qaa, qab", False),
        ("1: qac, qad", True),
    ]


@pytest.mark.parametrize(
    ("less", "choice", "change"),
    [
        (0.05, "Take the experts: the mean loss of experts is 0.050 [", "0.050 nats per token low"),
        (-0.05, "Take the dense model, trained on as many tokens: ", "0.050 nats per token higher"),
        (
            0.005,
            "Either may be taken: the mean loss of `typology-2, filter:1` is not significantly ",
            "no significant difference on",
        ),
    ],
)
def test_the_choice_goes_by_significance(less: float, choice: str, change: str) -> None:
    topics = expert_answer(seen(compared(less)))
    assert "`typology-2, filter:1` has the lowest mean loss" in topics["Choice"][1]
    assert topics["Choice"][0].startswith(choice)
    versus_dense, versus_base = topics["Languages"]
    assert change in versus_dense and "`qaa`, `qab`, `qac` and `qad`" in versus_dense
    assert "versus the base model: mean −" in versus_base


def test_too_few_documents_for_so_many_comparisons_are_no_verdict() -> None:
    plain = compared(0.05)
    for each in plain["settings"]:
        for of in each["languages"].values():
            for less in (of[name] for name in of if name.startswith("less_than")):
                reason = "9 independent documents are needed for 8 comparisons, there are 7"
                less |= {"p": 0.9, "reason": reason}
    topics = expert_answer(seen(plain))
    assert topics["Languages"][0].endswith("on `qaa`, `qab`, `qac` and `qad` (not tested).")
    assert "no significant" not in topics["Languages"][0]
    assert topics["Caveats"][0].startswith(
        "Not tested, or `too few` in tables: 9 independent documents"
    )
    assert str(topics).count("9 independent documents are needed") == 1


def test_random_seeds_that_disagree() -> None:
    plain = copy.deepcopy(compared(0.05))
    for each in plain["settings"]:
        for of in each["languages"].values():
            away = 0.08 if each["partition"] == "dense" else 0.0
            of["by_seed"] = [of["loss"] - away, of["loss"] + away]
    said = " ".join(expert_answer(seen(plain))["Certainty"])
    assert "by random seed of training: +0.030, −0.130 nats per token; they do not agree" in said


def test_the_amount_of_text_matters_only_where_it_differs() -> None:
    experts = seen(compared(0.05, amounts=(1000, 2000, 4000, 8000)))
    figures = expert_figures(experts)
    # rises 0.25, 0.5, 0.75, 1.25 grow with the amount
    assert "ρ = +1.00, p = 0.083, 4 languages" in figures["unlearned"].caption
    assert {row["amount"] for row in figures["unlearned"].rows} == {1000.0, 2000.0, 4000.0, 8000.0}
    assert "unlearned" not in expert_figures(seen(compared(0.05)))


def test_forgetting_goes_by_what_the_base_read_where_that_is_known() -> None:
    plain = compared(0.05, amounts=(1000, 2000, 4000, 8000))
    assert "is not known" in expert_figures(seen(plain))["unlearned"].caption
    # of qad, which is most in the experts' text and was forgotten most, the base read nothing
    plain["seed_shares"] = dict(zip(LANGS, (0.5, 0.3, 0.2, 0.0), strict=True))
    drawn = expert_figures(seen(plain))["unlearned"]
    assert "against its share of the base's training" in drawn.caption
    assert "ρ = −1.00, p = 0.083, 4 languages" in drawn.caption
    assert [row["amount"] for row in drawn.rows if row["language"] == "qad"] == [0.0]
    plain["seed_shares"] = dict.fromkeys(LANGS, 0.25)
    assert "unlearned" not in expert_figures(seen(plain))


def test_intervals_of_too_few_texts_are_not_shown() -> None:
    plain = compared(0.05, amounts=(1000, 2000, 4000, 8000))
    for each in plain["settings"]:
        for of in [*each["languages"].values(), each["mean"]]:
            for less in (of[name] for name in of if name.startswith("less_than")):
                less |= {
                    "low": None,
                    "high": None,
                    "p": None,
                    "reason": "6 independent documents are needed",
                }
    for of in plain["text"].values():
        of["documents"] = 5
    topics = expert_answer(seen(plain))
    assert topics["Choice"][0] == (
        "Not decided: the mean loss is 0.050 nats per token lower with `typology-2, filter:1`, "
        "which cannot be tested: 6 independent documents are needed."
    )
    assert "Fewer than 6 held-out texts of `qaa`, `qab`, `qac` and `qad`" in topics["Caveats"][1]
    assert rows_of(plain, "Partitions and routings")[3][6] == "−0.050 too few"
    for each in plain["settings"]:
        if less := each["mean"].get("less_than_dense"):
            less["mean"] = -less["mean"]
    assert "lower with the dense model" in expert_answer(seen(plain))["Choice"][0]


def test_a_base_of_another_tokenizer() -> None:
    plain = compared(0.05)
    assert "tokenizer" not in " ".join(expert_answer(seen(plain))["Caveats"])
    plain["seed_tokenizer"] = "own"
    assert "The base model has another tokenizer" in expert_answer(seen(plain))["Caveats"][0]


def test_texts_in_the_colours_of_their_experts(tmp_path: Path) -> None:
    plain = compared(0.05)
    pieces = [("ab", {"0": 0.7, "1": 0.3}), (" גד", {"1": 0.996})]
    shown = [{"text": text, "weights": weights} for text, weights in pieces]
    plain["routed"] = {"typology-2": [{"languages": ["qaa"], "spans": shown}]}
    page = page_as_html(experts_page(evaluation_of(plain), "one"))
    assert '<i title="0: 70%, 1: 30%">ab</i></b> <b data-e="1"' in page
    assert '<i title="1: 100%">גד</i>' in page
    assert '<b data-e="1" style="--e:var(--s1)"><i title="">qac, qad </i>' in page


def test_text_that_switches_languages() -> None:
    plain = compared(0.05)
    assert "Mixed text" not in expert_tables(seen(plain))
    assert "Mixed text" not in expert_answer(seen(plain))

    def loss(value: float, more: float | None = None) -> dict[str, Any]:
        given = {"value": more, "low": 0.25, "high": 0.75, "p": 0.01}
        of = {"value": value, "low": value - 0.5, "high": value + 0.5}
        return {"loss": of, "versus_given": None if more is None else given}

    losses = {
        "dense": loss(3.0),
        "typology-2@filter:1": loss(4.0, 1.0),
        "typology-2@tfidf": loss(3.5, 0.5),
    }
    plain["mixed"] = {"texts": 9, "tokens": 900, "losses": losses}
    head, dense, _, tfidf = rows_of(plain, "Mixed text")
    assert head[2:] == ["one language", "versus dense", "two languages", "versus given"]
    assert dense == ["dense", "", "2.625", "", "3.000 [2.500, 3.500]", ""]
    versus = rows_of(plain, "Partitions and routings")
    assert (
        tfidf[3] == next(row for row in versus if "tfidf" in row)[versus[0].index("versus dense")]
    )
    assert [*tfidf[1:3], *tfidf[4:]] == [
        "tfidf",
        "2.625",
        "3.500 [3.000, 4.000]",
        "+0.500 [0.250, 0.750]",
    ]
    assert expert_answer(seen(plain))["Mixed text"] == [
        "On text that switches languages `typology-2, tfidf` is best of the routings that are not "
        "given the language: 3.500 [3.000, 4.000] nats per token, +0.500 [0.250, 0.750] versus "
        "being given that of every token (9 texts)."
    ]


def test_same_parts_by_two_ways() -> None:
    plain = compared(0.05)
    plain["partitions"]["gradient-similarity-2"] = {
        "by": "gradient-similarity",
        "shares": list(reversed(PAIRS)),
    }
    last = expert_answer(seen(plain))["Caveats"][-1]
    assert "`typology-2` and `gradient-similarity-2` came to the same clusters" in last


def test_added_languages_and_donors() -> None:
    plain = added_outcome()
    head, donor, added = rows_of(plain, "Added languages")
    assert head[-2:] == ["new expert alone", "versus before"]
    ways = ["before language", "before filter:1", "added language", "added filter:1"]
    assert head[3:-2] == ways
    values = ["2.625", "", "2.875", "1.625", "1.750", "1.625", "−1.250 [−1.260, −1.240]"]
    assert added == ["qad", "added, from qac", *values]
    assert donor[:4] == ["qac", "donor of qad", "3.750", "3.250"]
    assert donor[-2:] == ["3.250", "0.000 [−0.010, 0.010]"]
    topics = expert_answer(seen(plain))
    assert topics["Added"] == [
        f"`qad`, added, from qac: perplexity {math.exp(2.875):.1f} before (filter:1), "
        f"{math.exp(1.625):.2f} after; versus before 1.250 [1.240, 1.260] nats per token lower on "
        "`qad`; versus the base model 1.000 [0.990, 1.010] nats per token lower on `qad`."
    ]
    assert "versus before no significant difference on `qac`" in topics["Donors"][0]
    assert [line.split(":")[0] for line in topics["Other languages"]] == ["`qaa`", "`qab`"]
    for each in plain["settings"]:
        for of in each["languages"].values():
            for less in (of[name] for name in of if name.startswith("less_than")):
                less |= {"p": 0.9, "reason": "9 independent documents are needed, there are 7"}
    assert expert_answer(seen(plain))["Added"][0].endswith(
        "after; versus before −1.250, versus the base model −1.000 nats per token (not tested)."
    )
    assert "dense" not in " ".join(topics["Choice"])


def test_a_page_with_its_files(tmp_path: Path) -> None:
    found = compared(0.05)
    page = write_page(experts_page(evaluation_of(found), "family"), tmp_path / "family-experts")
    text = page.read_text(encoding="utf-8")
    assert "<h1>Language experts: family</h1>" in text
    files = sorted(path.stem for path in (page.parent / "figures").glob("*.svg"))
    assert files == ["cost", "forgetting", "shares"]
    assert re.findall(r'<figure id="([a-z]+)"', text) == list(expert_figures(seen(found)))
    with (page.parent / "figures" / "cost.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["routing"] for row in rows] == ["filter:1", "tfidf:1", "tfidf"]
    numbers = json.loads((page.parent / "report.json").read_text(encoding="utf-8"))
    assert numbers["texts"] == evaluation_of(found).to_json()["texts"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "note.txt").write_text("mine")
    with pytest.raises(UserError, match="is not empty and no report"):
        write_page(experts_page(evaluation_of(found), "family"), tmp_path / "mine")


def test_a_dense_model_alone() -> None:
    found = outcome(
        [setting("seed", "", 1, 1.0, SEED), setting("dense", "", 1, 1.0, DENSE)],
        cells("dense", [("e0", dict.fromkeys(LANGS, 1.0), dict.fromkeys(LANGS, -0.5))]),
        {"dense": [dict.fromkeys(LANGS, 1.0)]},
    )
    assert set(expert_figures(seen(found))) == {"forgetting"}
    assert "Choice" not in expert_answer(seen(found))
