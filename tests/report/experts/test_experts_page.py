import copy
import csv
import html
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
from tongues.report.experts import write_experts_report
from tongues.report.experts.figures import expert_figures
from tongues.report.experts.growth import added_table
from tongues.report.experts.numbers import between
from tongues.report.experts.routed import routed_texts
from tongues.report.experts.tables import (
    forgetting_table,
    language_table,
    setting_table,
)
from tongues.report.experts.words import findings


def rows_of(table: str) -> list[list[str]]:
    """The cells of a table as a reader sees them."""
    return [
        [
            html.unescape(re.sub(r"<[^>]+>", "", cell.replace("<small", " <small"))).strip()
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
        ]
        for row in re.findall(r"<tr>(.*?)</tr>", table)
    ]


def grown_outcome() -> dict[str, Any]:
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
        setting("before", "text", 2, 1.0, lower(SEED, 0.5, 0.5, 0.5, -0.25)),
        setting("grown", "language", 3, 1.0, lower(SEED, 0.5, 0.5, 0.5, 1.0)),
        setting("grown", "text", 3, 1.0, lower(SEED, 0.5, 0.5, 0.5, 0.875)),
    ]
    for one in settings[3:]:
        for lang, of in one["languages"].items():
            other = settings[2]["languages"][lang]["loss"] - of["loss"]
            ends = {"low": other - 0.01, "high": other + 0.01, "routing": "text"}
            ends["p"] = told_apart(other, 0.01)
            of["less_than_before"] = {"mean": other, **ends}
    forgetting = [*cells("before", old), *cells("grown", [*old, new])]
    return outcome(settings, forgetting, {"before": before, "grown": [dict.fromkeys(LANGS, 1.0)]})


def test_numbers_of_the_tables() -> None:
    found = compared(-0.05)
    head, seed, dense, text, *_, control = rows_of(setting_table(seen(found)))
    assert head[-2:] == ["lower than the seed", "lower than dense"]
    assert seed[:2] == ["seed", ""]
    assert seed[6] == f"{sum(SEED.values()) / 4:.3f}"
    assert dense[-2:] == ["0.719 [0.709, 0.729]", ""]
    mean = sum(math.exp(loss + 0.05) for loss in DENSE.values()) / 4
    assert head[3:6] == ["experts run", "time", "weights"]
    assert text[1:] == [
        "text",
        "2",
        "1.00",
        "250 µs",
        "3 MB",
        "2.675",
        f"{mean:.1f}",
        "1.337",  # half of 2.675 in binary
        "0.669 [0.659, 0.679]",
        "−0.050 [−0.060, −0.040]",
    ]
    assert control[1] == "uniform"  # controls stay in the table, however low
    _, first, *_ = rows_of(language_table(seen(found)))
    assert first == [
        "qaa",
        "4.000",
        "3.000",
        "3.050",
        "1 dense",
        "typology-2, text",
        "−0.050 [−0.060, −0.040]",
    ]


def test_what_was_forgotten() -> None:
    found = compared(-0.05)
    _, row = rows_of(forgetting_table(seen(found)))
    rises = {"qac": 0.75, "qad": 1.25, "qaa": 0.25, "qab": 0.5}
    by_perplexity = [math.exp(SEED[lang]) * (math.exp(rise) - 1) for lang, rise in rises.items()]
    assert row == ["typology-2", "4 of 8", "50.0 %", f"{sum(by_perplexity) / 4:.1f}", "0.688"]
    heat = expert_figures(seen(found))["forgetting"]
    assert [(row["expert"], row["learned"]) for row in heat.rows if row["lang"] == "qac"] == [
        ("0: qaa, qab", False),
        ("1: qac, qad", True),
    ]


@pytest.mark.parametrize(
    ("less", "said"),
    [
        (0.05, "It beats the dense model on as many tokens in all: its loss is lower by 0.050 ["),
        (
            -0.05,
            "It does not beat the dense model on as many tokens in all: its loss is higher by ",
        ),
        (0.005, "cannot be told apart: its loss is lower by 0.005 [−0.005, 0.015]"),
    ],
)
def test_the_verdict_goes_by_the_interval(less: float, said: str) -> None:
    told = findings(seen(compared(less)))["Experts"]
    assert "`typology-2, text` has the lowest loss" in told[0]
    assert said in told[1]
    counts = {0.05: (4, 0, 0), -0.05: (0, 4, 0), 0.005: (0, 0, 4)}[less]
    assert "better than dense on {} of 4, worse on {}, and on {} the two".format(*counts) in told[2]


def test_seeds_that_disagree_are_told() -> None:
    found = copy.deepcopy(compared(0.05))
    for one in found["settings"]:
        one["seeds"] = 2
        for of in one["languages"].values():
            away = 0.08 if one["division"] == "dense" else 0.0
            of["by_seed"] = [of["loss"] - away, of["loss"] + away]
    told = " ".join(findings(seen(found))["Experts"])
    assert "lower than dense by −0.030, +0.130: they do not agree on which is better" in told


def test_amount_of_text_is_asked_only_where_it_differs() -> None:
    assert "cannot be told" in findings(seen(compared(0.05)))["Text"][0]
    found = compared(0.05, amounts=(1000, 2000, 4000, 8000))
    # gains over the seed 1.05, 0.55, 0.8, 0.675: ranks 4, 1, 3, 2; 1 - 6 · (9 + 1 + 0 + 4) / 60
    assert "ρ = −0.40" in findings(seen(found))["Text"][0]
    figures = expert_figures(seen(found))
    assert {row["tokens"] for row in figures["gains"].rows} == {1000.0, 2000.0, 4000.0, 8000.0}
    # rises 0.25, 0.5, 0.75, 1.25 grow with the amount
    assert "ρ = +1.00, p = 0.083, 4 languages" in figures["unlearned"].caption
    assert "unlearned" not in expert_figures(seen(compared(0.05)))


def test_forgetting_goes_by_what_the_seed_read_where_that_is_known() -> None:
    amounts = (1000, 2000, 4000, 8000)
    found = compared(0.05, amounts=amounts)
    assert "is not known" in expert_figures(seen(found))["unlearned"].caption
    assert rows_of(forgetting_table(seen(found)))[0][-1] == "against amount of text"
    # of qad, which is most in the experts' text and was forgotten most, the seed read nothing
    found["seed_shares"] = dict(zip(LANGS, (0.5, 0.3, 0.2, 0.0), strict=True))
    drawn = expert_figures(seen(found))["unlearned"]
    assert "against its share of the text that the seed was trained on" in drawn.caption
    assert "ρ = −1.00, p = 0.083, 4 languages" in drawn.caption
    assert [row["frequency"] for row in drawn.rows if row["language"] == "qad"] == [0.0]
    assert "share of the seed's training: ρ = −1.00" in findings(seen(found))["Forgotten"][0]
    assert rows_of(forgetting_table(seen(found)))[0][-1] == "against the seed's share of it"
    found["seed_shares"] = dict.fromkeys(LANGS, 0.25)
    assert "unlearned" not in expert_figures(seen(found))
    assert "ρ" not in findings(seen(found))["Forgotten"][0]


def test_intervals_of_too_few_texts_are_not_shown() -> None:
    found = compared(0.05, amounts=(1000, 2000, 4000, 8000))
    for one in found["settings"]:
        for of in [*one["languages"].values(), one["mean"]]:
            for less in (of[name] for name in of if name.startswith("less_than")):
                less |= {"low": None, "high": None, "p": None}
    for of in found["text"].values():
        of["documents"] = 5
    less = seen(found).settings[2].lower("dense")
    assert (less.significant, between(less)) == (0, "(too few texts)")
    told = findings(seen(found))
    assert "measured on too few texts to say more" in told["Experts"][1]
    assert "Fewer than 6 held-out texts of `qaa`, `qab`, `qac`, `qad`" in told["Caution"][1]
    assert rows_of(setting_table(seen(found)))[3][-1] == "0.050 (too few texts)"
    assert {row["low"] for row in expert_figures(seen(found))["settings"].rows} == {None}
    assert {row["low"] for row in expert_figures(seen(found))["gains"].rows} == {None}


def test_a_seed_of_another_tokenizer_is_told() -> None:
    found = compared(0.05)
    assert "tokenizer" not in " ".join(findings(seen(found))["Caution"])
    found["seed_tokenizer"] = "own"
    assert "The seed has another tokenizer" in findings(seen(found))["Caution"][1]


def test_texts_in_the_colours_of_their_experts() -> None:
    found = compared(0.05)
    assert routed_texts(seen(found)) == ""
    pieces = [("ab", {"0": 0.7, "1": 0.3}), (" <", {"0": 0.6, "1": 0.4}), (" גד", {"1": 0.996})]
    shown = [{"text": text, "weights": weights} for text, weights in pieces]
    found["routed"] = {"typology-2": [{"languages": ["qaa"], "pieces": shown}]}
    said = routed_texts(seen(found))
    assert (
        '<p dir="auto" lang="qaa"><b data-e="0"><i title="0: 70%, 1: 30%">ab</i>'
        '<i title="0: 60%, 1: 40%"> &lt;</i></b> <b data-e="1"><i title="1: 100%">גד</i></b></p>'
    ) in said
    assert '<li><b data-e="1">qac, qad</b></li>' in said
    assert said.count('[data-e="1"]{--e:') == 2  # of light pages and of dark ones


def test_same_parts_by_two_ways() -> None:
    found = compared(0.05)
    found["partitions"]["kinship-2"] = {"by": "kinship", "shares": list(reversed(PAIRS))}
    assert (
        "`typology-2` and `kinship-2` came to the same parts"
        in findings(seen(found))["Caution"][-1]
    )


def test_added_languages_and_donors() -> None:
    found = grown_outcome()
    head, added, donor = rows_of(added_table(seen(found)))
    assert head[-2:] == ["new expert alone", "lower than before"]
    assert added == [
        "qad",
        "added, from qac",
        "2.625",
        "",
        "2.875",
        "",
        "1.625",
        "1.750",
        "",
        "1.625",
        "1.250 [1.240, 1.260]",
    ]
    assert donor[:4] == ["qac", "donor of qad", "3.750", "3.250"]
    assert donor[-2:] == ["3.250", "0.000 [−0.010, 0.010]"]
    told = findings(seen(found))
    assert told["Added"] == [
        f"`qad`, added from `qac`: perplexity {math.exp(2.875):.1f} before (text), "
        f"{math.exp(1.625):.2f} after; its loss is now lower by 1.250 [1.240, 1.260] than before "
        "and lower by 1.000 [0.990, 1.010] than the seed's, nats per token.",
        "Donors: 0 became better than before, 0 worse, and 1 stayed as they were or cannot be told "
        "apart from it.",
    ]
    assert "dense" not in " ".join(told["Experts"])


def test_a_page_with_its_files(tmp_path: Path) -> None:
    found = compared(0.05)
    page = write_experts_report(evaluation_of(found), tmp_path / "family-experts")
    text = page.read_text(encoding="utf-8")
    assert "<h1>Language experts: family</h1>" in text
    files = sorted(path.stem for path in (page.parent / "figures").glob("*.svg"))
    assert files == ["cost", "forgetting", "languages", "settings", "shares"]
    # panels are drawn in the order of the figures on the page
    assert re.findall(r'<figure id="([a-z]+)"', text) == list(expert_figures(seen(found)))
    with (page.parent / "figures" / "settings.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["setting"] for row in rows[:3]] == [
        "typology-2, text",
        "typology-2, tfidf",
        "typology-2, tfidf:1",
    ]
    numbers = json.loads((page.parent / "report.json").read_text(encoding="utf-8"))
    assert numbers["texts"] == evaluation_of(found).to_json()["texts"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "note.txt").write_text("mine")
    with pytest.raises(UserError, match="is not empty and no report"):
        write_experts_report(evaluation_of(found), tmp_path / "mine")


def test_a_dense_model_alone() -> None:
    found = outcome(
        [setting("seed", "", 1, 1.0, SEED), setting("dense", "uniform", 1, 1.0, DENSE)],
        cells("dense", [("e0", dict.fromkeys(LANGS, 1.0), dict.fromkeys(LANGS, -0.5))]),
        {"dense": [dict.fromkeys(LANGS, 1.0)]},
    )
    assert set(expert_figures(seen(found))) == {"languages", "forgetting"}
    assert "Experts" not in findings(seen(found))
