import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.report.evaluation.scored import MIXED, PLAIN, SCRATCH, SOURCE, about, changed, outcome
from tests.report.pages import Page
from tongues.errors import UserError
from tongues.evaluate.evaluation import Evaluation
from tongues.evaluate.numbers import bits
from tongues.report.evaluation import card_section, write_evaluation_report
from tongues.report.evaluation.figures import accuracy_figure, forgetting_figure, loss_figure
from tongues.report.evaluation.names import labels, same_tokens
from tongues.report.evaluation.replay import replay_figure
from tongues.report.evaluation.tables import (
    accuracy_table,
    comparison_table,
    loss_table,
    model_table,
    perplexity_table,
)
from tongues.report.evaluation.words import beside_chance, findings, lead


@pytest.fixture(scope="module")
def found() -> Evaluation:
    return Evaluation.from_json(json.loads(json.dumps(outcome(aligned=True).to_json())))


def rows_of(table: str) -> list[list[str]]:
    """The cells of a table as a reader sees them, bold ones in asterisks."""
    marked = re.sub(r"</?strong>", "*", table.replace("<small", " <small"))
    return [
        [
            html.unescape(re.sub(r"<[^>]+>", "", cell)).strip()
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
        ]
        for row in re.findall(r"<tr>(.*?)</tr>", marked)
    ]


def test_the_best_is_bold_with_what_cannot_be_told_from_it(found: Evaluation) -> None:
    head, qaa, qab, qac, best = rows_of(loss_table(found, "study"))
    names = ["qaa-source-s1", "qab-scratch-s1", "qab-cpt-s1", "qab-cpt-r20-s1"]
    assert head == ["language", *names, "documents"]
    assert [cell.startswith("*") for cell in qaa[1:5]] == [True, False, False, False]
    assert [cell.startswith("*") for cell in qab[1:5]] == [False, False, True, True]
    assert not any(cell.startswith("*") for cell in qac[1:5])  # all are alike, so none is best
    kept = found.texts["study"].losses[SOURCE]["qaa"].bits_per_byte
    assert qaa[1] == f"*{kept.value:.3f}* [{kept.low:.3f}, {kept.high:.3f}]"
    assert (qaa[5], best[0]) == ("24", "best in")
    assert sum(int(cell.split(" of ")[0]) for cell in best[1:5]) == 3


def test_accuracies_stand_beside_chance(found: Evaluation) -> None:
    head, qaa, qab, _, mean, _ = rows_of(accuracy_table(found, "xnli"))
    assert head[-2:] == ["chance", "items"]
    assert qaa[-2:] == ["33.3 ± 4.3", "120"]  # √(2/9 / 120)
    assert mean[-2] == "33.3 ± 2.5"
    assert qaa[1].startswith("*") and not qaa[2].startswith("*")
    assert [cell.startswith("*") for cell in qab[1:5]] == [False, False, True, True]


def test_counts_of_items_that_differ_and_perplexities_beyond_numbers_are_shown() -> None:
    found = outcome((SOURCE, PLAIN), languages=("qaa", "qab"))
    found = changed(found, 117, "tasks", "xnli", "accuracies", PLAIN, "qaa", "items")
    _, qaa, qab, *_ = rows_of(accuracy_table(found, "xnli"))
    assert (qaa[-1], qab[-1]) == ("117–120", "120")
    found = changed(found, None, "texts", "study", "losses", PLAIN, "qab", "perplexity")
    _, qaa, qab, mean = rows_of(perplexity_table(found, "study", [SOURCE, PLAIN]))
    assert (qab[2], mean[2]) == ("over 1e299", "over 1e299")
    assert "over" not in qaa[2] + mean[1]


def test_too_few_documents_are_told_once() -> None:
    found = outcome((SOURCE, PLAIN), documents=6, languages=("qaa", "qab"))
    _, forgotten, _ = lead(found)
    assert forgotten == "Forgotten on `study`: too few documents to tell."
    scores = found.texts["study"]
    values = {
        model: {language: of.bits_per_byte for language, of in by.items()}
        for model, by in scores.losses.items()
    }
    _, qaa, *_ = rows_of(comparison_table(found, scores.forgotten, bits, values))
    assert qaa[-1].endswith("], too few")
    assert findings(found)["Caution"] == [
        "Where it says too few, 7 documents are needed for 2 comparisons.",
        "A count of languages tells something from 6 languages on.",
    ]


def test_every_sentence_stands_once(found: Evaluation, tmp_path: Path) -> None:
    page = write_evaluation_report(found, tmp_path / "once-evaluation").read_text(encoding="utf-8")
    body = re.sub(r"<(script|style|svg)\b.*?</\1>", "", page, flags=re.DOTALL)
    said = re.findall(r"<(?:p|li|figcaption)\b[^>]*>(.*?)</(?:p|li|figcaption)>", body, re.DOTALL)
    sentences = [one for text in said for one in re.split(r"(?<=\.) ", text) if len(one) > 60]
    assert len(sentences) > 8
    assert len(set(sentences)) == len(sentences)


def test_forgetting_is_a_table_and_a_figure(found: Evaluation) -> None:
    forgotten = found.texts["study"].forgotten
    head, qaa, qab, qac, mean, ahead = rows_of(comparison_table(found, forgotten, bits, {}))
    assert head == ["language", "qab-cpt-s1", "qab-cpt-r20-s1"]
    assert qaa[1].startswith("+0.4") and qab[1].startswith("−1.3")
    assert all(cell.endswith("], not told") for cell in qac[1:])
    assert mean[2].startswith("−0.4") and ahead == ["ahead in", "2 of 3", "2 of 3"]
    drawn = forgetting_figure(found, "study")
    assert drawn is not None and len(drawn.rows) == 6


def test_one_comparison_shows_what_is_compared() -> None:
    found = outcome((SOURCE, PLAIN), languages=("qaa", "qab"))
    scores = found.texts["study"]
    values = {
        model: {language: of.bits_per_byte for language, of in by.items()}
        for model, by in scores.losses.items()
    }
    head, qaa, *_ = rows_of(comparison_table(found, scores.forgotten, bits, values))
    assert head == ["language", "qaa-source-s1", "qab-cpt-s1", "difference"]
    gap = float(qaa[2]) - float(qaa[1])
    assert float(qaa[3].split()[0]) == pytest.approx(gap, abs=0.0011)


def test_first_it_is_said_what_can_be_told(found: Evaluation) -> None:
    losses, forgotten, answers = lead(found)
    assert losses == (
        "On `study` (mean of 3 languages) `qab-cpt-s1` and `qab-cpt-r20-s1` are ahead of "
        "`qaa-source-s1`; `qab-scratch-s1` is behind `qaa-source-s1`."
    )
    assert forgotten == (
        "Forgotten on `study`: the loss is above the seed's in 2 of 6 pairs of model and language, "
        "most in `qaa` by `qab-cpt-s1`."
    )
    assert "`qab-cpt-r20-s1` is ahead of" in answers and "`qab-scratch-s1` is behind" in answers
    assert "`qab-cpt-s1` cannot be told apart from `qaa-source-s1`." in answers
    assert beside_chance(found, "xnli").endswith("and `qab-cpt-r20-s1` are above chance.")
    told = findings(found)
    assert told["Caution"] == [
        "The languages say the same: in how many a model is ahead tells no more than the mean.",
        "A count of languages tells something from 7 languages on.",  # among three models
    ]
    assert told["Left out"] == ["2 left out: empty choice (first xnli/qaa.jsonl, line 3: )."]


def test_one_model_on_too_little_text() -> None:
    found = outcome((MIXED,), documents=4, languages=("qaa",))
    losses, answers = lead(found)
    assert losses.startswith(f"`{MIXED}` needs ") and "bits per byte of `study`" in losses
    assert answers.endswith(" of `xnli` rightly, which is above chance (33.3 % ± 4.3).")
    assert findings(found)["Caution"] == ["Where it says too few, 6 documents are needed."]
    assert "(too few)" in loss_table(found, "study")
    assert loss_figure(found, "study") is None and accuracy_figure(found, "xnli") is None
    assert forgetting_figure(found, "study") is None and replay_figure(found) is None


def test_perplexities_stand_apart_by_tokenizer(found: Evaluation) -> None:
    assert list(same_tokens(found)) == [[SOURCE, SCRATCH, PLAIN, MIXED]]
    own = changed(found, "other", "models", 1, "tokenizer")
    assert list(same_tokens(own)) == [[SOURCE, PLAIN, MIXED]]
    head, *rows = rows_of(perplexity_table(own, "study", [SOURCE, PLAIN]))
    assert head == ["language", "qaa-source-s1", "qab-cpt-s1"]
    losses = found.texts["study"].losses[PLAIN].values()
    mean = sum(of.perplexity or 0 for of in losses) / 3
    assert rows[-1][2] == f"{mean:.1f}"


def test_scores_against_replay(found: Evaluation) -> None:
    drawn = replay_figure(found)
    assert drawn is not None and len(drawn.panels) == 2
    rows = {(row["on"], row["series"], row["share"]): row["value"] for row in drawn.rows}
    right = found.tasks["xnli"].accuracies
    own, first = (right[model]["qaa"].share.value for model in (MIXED, SOURCE))
    assert rows["xnli", "qaa", "20 %"] == pytest.approx((own - 1 / 3) / (first - 1 / 3))
    assert ("xnli", "qac", "20 %") not in rows  # where the first cannot be told from chance
    assert rows["study", "qaa", "0 %"] > rows["study", "qaa", "20 %"] > 0


def test_a_seed_that_nobody_named_is_no_part_of_the_replay_figure() -> None:
    found = outcome((PLAIN, MIXED, SOURCE))
    plain = changed(found, MIXED, "models", 0, "base").to_json()
    for scores in (*plain["texts"].values(), *plain["tasks"].values()):
        scores["compared"] = [one for one in scores["compared"] if one["model"] != MIXED]
    assert replay_figure(Evaluation.from_json(plain)) is None


def test_it_is_said_where_nothing_stands_before_prompts() -> None:
    found = outcome((SOURCE, PLAIN))
    assert "not of prompts" not in model_table(found)
    found = changed(found, False, "models", 1, "prompted")
    assert model_table(found).count("&lt;end&gt;<small>of texts, not of prompts</small>") == 1
    assert "stood the token `<end>`, but nothing before the prompts" in card_section(found, PLAIN)


def test_a_ratio_to_chance_itself_is_left_out_of_the_page(tmp_path: Path) -> None:
    found = outcome((SOURCE, PLAIN, MIXED))
    none = {"value": None, "low": None, "high": None}
    for place in range(len(found.tasks["xnli"].compared)):
        found = changed(found, none, "tasks", "xnli", "compared", place, "relative_of", "qab")
    drawn = replay_figure(found)
    assert drawn is not None
    assert ("xnli", "qab") not in {(row["on"], row["series"]) for row in drawn.rows}
    write_evaluation_report(found, tmp_path / "none-evaluation")


def test_names_lose_the_folder_that_all_have() -> None:
    def labelled(*names: str) -> list[str]:
        models = [replace(about(SOURCE), name=name) for name in names]
        return list(labels(replace(outcome((SOURCE,)), models=models)).values())

    assert labelled("a/b/c", "a/b/d@tfidf:2") == ["c", "d@tfidf:2"]
    assert labelled("a/b/c") == ["a/b/c"]
    assert labelled("a", "a/b") == ["a", "a/b"]


def test_a_page_with_its_files(found: Evaluation, tmp_path: Path) -> None:
    page = write_evaluation_report(found, tmp_path / "first-evaluation")
    text = page.read_text(encoding="utf-8")
    whole = Page(text)
    assert not whole.open and "Evaluation: first" in whole.said
    assert "Two sleep <here>, right?" in whole.said  # shown, not read as a tag
    drawn = re.findall(r'<figure id="([\w.-]+)"', text)
    assert drawn == ["loss-study", "forgetting-study", "task-xnli", "replay"]
    panels = json.loads(re.findall(r'id="drawing">(.*?)</script>', text, re.DOTALL)[0])["panels"]
    assert len(panels) == text.count('<div class="panel">')
    kept = json.loads((page.parent / "report.json").read_text(encoding="utf-8"))
    assert kept["texts"] == found.to_json()["texts"] and kept["findings"] == findings(found)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "note.txt").write_text("mine")
    with pytest.raises(UserError, match="is not empty and no report"):
        write_evaluation_report(found, tmp_path / "mine")
