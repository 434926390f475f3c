import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.golden import golden
from tests.report.evaluation.scored import MIXED, PLAIN, SCRATCH, SOURCE, about, changed, outcome
from tests.report.pages import Page
from tongues.core.pages import Table, Tiles, as_text, page_as_html, write_page
from tongues.evaluate.evaluation import Evaluation
from tongues.report.evaluation.opening import Verdict, opening_tiles
from tongues.report.evaluation.tables import Measure, labels, model_table
from tongues.report.evaluation.view import (
    card_section,
    evaluation_page,
    replay_figure,
    score_blocks,
    score_figure,
)
from tongues.report.evaluation.words import answer
from tongues.verbs.shared import evaluation_folder


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return Evaluation.from_json(json.loads(json.dumps(outcome(aligned=True).to_json())))


def measures_of(evaluation: Evaluation) -> tuple[Measure, Measure]:
    text, task = Measure.of(evaluation)
    return text, task


def rows_of(table: Table) -> list[list[str]]:
    """The head and the cells of a table as a reader sees them, bold ones in asterisks."""
    head = [column.head.plain for column in table.columns]
    return [head, *([f"*{c.plain}" if c.strong else c.plain for c in row] for row in table.cells)]


def bold(row: Sequence[str]) -> list[bool]:
    return [cell.startswith("*") for cell in row]


def test_bold_is_what_no_model_is_significantly_better_than(evaluation: Evaluation) -> None:
    text, task = measures_of(evaluation)
    head, qaa, qab, qac = rows_of(text.score_table())
    names = ["qaa-source-s1", "qab-scratch-s1", "qab-cpt-s1", "qab-cpt-r20-s1"]
    assert head == ["language", "role", *names, "documents"]
    assert [row[1] for row in (qaa, qab, qac)] == ["base", "target", "other"]
    assert bold(qaa[2:6]) == [True, False, False, False]
    assert bold(qab[2:6]) == [False, False, True, True]
    assert not any(bold(qac))  # all are alike, so none is best
    of = evaluation.texts["study"].losses[SOURCE]["qaa"].bits_per_byte
    assert qaa[2] == f"*{of.value:.3f} [{of.low:.3f}, {of.high:.3f}]" and qaa[-1] == "24"
    head, qaa, qab, _ = rows_of(task.score_table())
    assert head[-3:] == ["chance", "majority", "items"]
    assert qaa[-3:] == ["33.3 ± 4.3", "–", "120"]  # √(2/9 / 120)
    assert bold(qab[2:6]) == [False, False, True, True]


def test_a_mean_is_of_languages_of_one_role_only(evaluation: Evaluation) -> None:
    for measure in measures_of(evaluation):
        compared = measure.comparison_table(measure.scores.compared)
        tables = (measure.score_table(), compared)
        assert {row[0] for of in tables for row in rows_of(of)[1:]} == {"qaa", "qab", "qac"}
    runs = answers()["counts of languages"]
    text, _ = measures_of(runs)
    losses = [of.perplexity or 0 for of in runs.texts["study"].losses[PLAIN].values()]
    assert rows_of(text.perplexity_table([PLAIN]))[-1][1] == f"{sum(losses) / 2:.1f}"
    beyond = changed(runs, None, "texts", "study", "losses", PLAIN, "qab", "perplexity")
    *_, qab, mean = rows_of(measures_of(beyond)[0].perplexity_table([SOURCE, PLAIN]))
    assert (qab[2], mean[2]) == ("over 1e299", "over 1e299")
    assert "over" not in mean[1]


def without_runs(evaluation: Evaluation) -> Evaluation:
    """The same models as folders, whose languages have no roles."""
    for place in range(len(evaluation.models)):
        evaluation = changed(evaluation, None, "models", place, "trained")
    return evaluation


WITH_TABLES = ("too few documents", "counts of languages", "one model")
WITH_TABLES += ("counts of items and groups that differ", "a model named like its text")
WITH_TABLES += ("nothing before the prompts of a model",)


@cache
def answers() -> dict[str, Evaluation]:
    """Evaluations of which each answers otherwise, by what is special in it."""
    two, langs = (SOURCE, PLAIN), ("qaa", "qab")
    pair, few = outcome(two, languages=langs), outcome(two, documents=6, languages=langs)
    untested = ("texts", "study", "forgotten", 0, "languages")
    counts = changed(pair, 117, "tasks", "xnli", "accuracies", PLAIN, "qaa", "items")
    for lang, groups in (("qaa", 9), ("qab", 1)):
        counts = changed(
            counts, groups, "texts", "study", "losses", SOURCE, lang, "bits_per_byte", "n"
        )
    like_its_text = json.dumps(pair.to_json()).replace(f'"{SOURCE}"', '"two"')
    like_its_text = json.loads(like_its_text.replace('"study"', '"two"'))
    three = {
        parallel: outcome((SOURCE, SCRATCH, PLAIN), languages=langs, aligned=parallel)
        for parallel in (False, True)
    }
    return {
        "roles": outcome(aligned=True),
        "too few documents": few,
        "too few documents by a limit": replace(few, limit=6),
        "a base language that is not tested": changed(pair, "few", *untested, "qaa", "reason"),
        "a target language that is not tested": changed(pair, "few", *untested, "qab", "reason"),
        "one difference": replace(outcome(two, languages=("qaa",)), tasks={}),
        "no base": replace(outcome((SOURCE, SCRATCH), languages=langs), tasks={}),
        "counts of languages": without_runs(three[False]),
        "counts of translations": without_runs(three[True]),
        "one model": outcome((MIXED,), documents=4, languages=("qaa",)),
        "counts of items and groups that differ": counts,
        "a model named like its text": Evaluation.from_json(like_its_text),
        "a base that is named after its run": outcome((PLAIN, SOURCE)),
        "nothing before the prompts of a model": changed(pair, False, "models", 1, "prompted"),
    }


@pytest.mark.parametrize("name", answers())
def test_the_answer_and_its_tables(name: str) -> None:
    evaluation = answers()[name]
    topics = answer(evaluation)
    lines = [f"{topic}\n" + "\n".join(topics[topic]) for topic in topics]
    lines.append(as_text([Tiles(opening_tiles(evaluation))]))
    if name in WITH_TABLES:
        tables = score_blocks(evaluation, compare=True)[:-1]  # but for the answer
        tables = [block for block in tables if not isinstance(block, Tiles)]
        lines.append(as_text([*tables, model_table(evaluation)]))
    golden(f"evaluation/{name}", "\n\n".join(lines))


def test_the_certainty_counts_all_differences(evaluation: Evaluation) -> None:
    certainty = answer(evaluation)["Certainty"][0]
    many = re.match(r"\*\*Significant differences: (\d+) of (\d+)\*\*", certainty)
    compared = [
        of
        for measure in measures_of(evaluation)
        for each in (*measure.scores.versus_base, *measure.scores.versus_first)
        for of in each.languages.values()
    ]
    assert many and int(many[2]) == len(compared)
    assert int(many[1]) == sum((of.p or 1) <= 0.05 for of in compared) < len(compared)


def test_one_model_is_drawn_against_nothing() -> None:
    evaluation = answers()["one model"]
    text, task = measures_of(evaluation)
    assert score_figure(text) is None and score_figure(task) is None
    assert replay_figure(evaluation, [text, task]) is None and not text.scores.versus_base


def test_every_sentence_stands_once(evaluation: Evaluation) -> None:
    page = page_as_html(evaluation_page(evaluation, "once"))
    body = re.sub(r"<(script|style|svg)\b.*?</\1>", "", page, flags=re.DOTALL)
    said = re.findall(r"<(?:p|li|figcaption)\b[^>]*>(.*?)</(?:p|li|figcaption)>", body, re.DOTALL)
    sentences = [one for text in said for one in re.split(r"(?<=\.) ", text) if len(one) > 60]
    assert len(sentences) > 8
    assert len(set(sentences)) == len(sentences)


def test_differences_to_the_base_are_a_table_and_a_figure(evaluation: Evaluation) -> None:
    text, _ = measures_of(evaluation)
    head = rows_of(text.comparison_table(text.scores.versus_base))[0]
    assert head == ["language", "role", "qab-cpt-s1", "qab-cpt-r20-s1"]
    drawn = score_figure(text)
    assert drawn is not None and len(drawn.panels) == 3
    assert sum(row.get("versus") == "its base" for row in drawn.rows) == 6
    every = [*text.scores.versus_base, *text.scores.versus_first]
    beside = rows_of(text.comparison_table(every))[0]
    assert beside[2:] == [*head[2:], "qab-scratch-s1"]  # each pair once, all versus one model


def test_a_page_of_one_change_opens_with_it(evaluation: Evaluation) -> None:
    pair = outcome((SOURCE, PLAIN))
    opened = Verdict.of(pair)
    assert opened is not None and list(opened.roles) == ["qab", "qaa", "qac"]  # targets first
    losses = pair.texts["study"].losses
    before, after = (losses[model]["qab"].bits_per_byte.value for model in (SOURCE, PLAIN))
    target, base, trained = opened.tiles()
    assert target.value == f"{before:.3f} → {after:.3f}" and target.below.startswith("learned, −")
    (compared,) = pair.texts["study"].versus_base
    assert target.below.endswith(f"] on {compared.languages['qab'].n} independent documents")
    assert base.below.startswith("forgotten, +") and trained.value == "60k tokens"
    drawn = opened.figure()
    assert drawn is not None and len(drawn.rows) == 6
    assert {row["value"] for row in drawn.rows[:2]} == {before, after}
    assert Verdict.of(evaluation) is None  # two runs, and neither is to be taken alone
    texts = {**pair.texts, "more": pair.texts["study"]}  # of which only the first is drawn above
    page = page_as_html(evaluation_page(replace(pair, texts=texts), "pair"))
    assert page.count('class="tiles"') == 1
    assert re.findall(r'<figure id="([\w.-]+)"', page)[:2] == ["outcome", "loss-more"]


def test_perplexities_are_by_tokenizer(evaluation: Evaluation) -> None:
    own = changed(evaluation, "other", "models", 1, "tokenizer")
    page = Page(page_as_html(evaluation_page(own, "own")))
    assert "Perplexity of a token, models of one tokenizer" in page.said
    assert rows_of(model_table(own))[0][-1] == "tokenizer"
    assert "tokenizer" not in rows_of(model_table(evaluation))[0]


def test_scores_against_replay(evaluation: Evaluation) -> None:
    drawn = replay_figure(evaluation, Measure.of(evaluation))
    assert drawn is not None and len(drawn.panels) == 2
    rows = {(row["on"], row["series"], row["share"]): row["value"] for row in drawn.rows}
    right = evaluation.tasks["xnli"].accuracies
    own, first = (right[model]["qaa"].share.value for model in (MIXED, SOURCE))
    assert rows["xnli", "qaa", "20 %"] == pytest.approx((own - 1 / 3) / (first - 1 / 3))
    assert ("xnli", "qac", "20 %") not in rows  # where the first is at chance
    assert rows["study", "qaa", "0 %"] > rows["study", "qaa", "20 %"] > 0


def test_a_base_that_nobody_named_is_no_part_of_the_replay_figure() -> None:
    plain = changed(outcome((PLAIN, MIXED, SOURCE)), MIXED, "models", 0, "base").to_json()
    for scores in (*plain["texts"].values(), *plain["tasks"].values()):
        scores["compared"] = [one for one in scores["compared"] if one["model"] != MIXED]
    evaluation = Evaluation.from_json(plain)
    assert replay_figure(evaluation, Measure.of(evaluation)) is None


def test_a_ratio_to_chance_itself_is_left_out_of_the_page() -> None:
    evaluation = outcome((SOURCE, PLAIN, MIXED))
    none = {"value": None, "low": None, "high": None}
    for place in range(len(evaluation.tasks["xnli"].compared)):
        path = ("tasks", "xnli", "compared", place, "relative_of", "qab")
        evaluation = changed(evaluation, none, *path)
    drawn = replay_figure(evaluation, Measure.of(evaluation))
    assert drawn is not None
    assert ("xnli", "qab") not in {(row["on"], row["series"]) for row in drawn.rows}
    evaluation_page(evaluation, "none")


def test_few_groups_with_most_items_are_said_to_find_little() -> None:
    evaluation = outcome((SOURCE, PLAIN))
    sentence = "`xnli` in `qab`: 120 groups of unlike size count as 2.8 alike; only large "
    assert not any("unlike size" in line for line in answer(evaluation).get("Caveats", []))
    path = ("tasks", "xnli", "accuracies")
    for key, value in (("worth", 2.76), ("items", 240)):
        for model in (SOURCE, PLAIN):
            evaluation = changed(evaluation, value, *path, model, "qab", key)
    assert any(line.startswith(sentence) for line in answer(evaluation)["Caveats"])
    assert "120 groups, as 2.8 alike" in page_as_html(evaluation_page(evaluation, "none"))
    older = changed(evaluation, None, *path, SOURCE, "qab", "worth")
    assert not any("unlike size" in line for line in answer(older).get("Caveats", []))


def test_a_task_at_chance_cannot_separate_models() -> None:
    evaluation = outcome((SOURCE, PLAIN))
    sentence = "`xnli` cannot separate these models"
    assert not any(sentence in line for line in answer(evaluation).get("Caveats", []))
    guess = {"value": 0.4, "low": 0.3, "high": 0.5}
    path = ("tasks", "xnli", "accuracies")
    for model in (SOURCE, PLAIN):
        for lang in evaluation.tasks["xnli"].languages:
            evaluation = changed(evaluation, guess, *path, model, lang, "share")
    assert any(sentence in line for line in answer(evaluation).get("Caveats", []))
    card = card_section(evaluation, PLAIN)
    low = evaluation.tasks["xnli"].compared[0].languages["qaa"]
    assert low.high is not None and low.low is not None
    size = 100 * (1 + 0.8416 / 1.96) * (low.high - low.low) / 2
    assert f"{size:.1f}" in card and "points are detected with 80% probability" in card
    better = changed(evaluation, 0.45, "tasks", "xnli", "accuracies", PLAIN, "qaa", "majority")
    better = changed(better, guess | {"low": 0.43}, *path, PLAIN, "qaa", "share")
    assert any(sentence in line for line in answer(better)["Caveats"])


def test_names_lose_the_folder_that_all_have() -> None:
    def labelled(*names: str) -> list[str]:
        models = [replace(about(SOURCE), name=name) for name in names]
        return list(labels(replace(outcome((SOURCE,)), models=models)).values())

    assert labelled("a/b/c", "a/b/d@tfidf:2") == ["c", "d@tfidf:2"]
    assert labelled("a/b/c") == ["a/b/c"]
    assert labelled("a", "a/b") == ["a", "a/b"]


def test_the_terminal_has_the_tables_of_the_page(evaluation: Evaluation) -> None:
    plain, compared = (as_text(score_blocks(evaluation, compare=c)) for c in (False, True))
    for measure in measures_of(evaluation):
        assert as_text([measure.score_table()]) in plain and measure.title in plain
        differences = as_text([measure.comparison_table(measure.scores.versus_first)])
        assert differences in compared and differences not in plain
    assert "Choice\n\n- On text `study`" in compared and "Choice" not in plain


def test_a_page_with_its_files(evaluation: Evaluation, tmp_path: Path) -> None:
    page = write_page(evaluation_page(evaluation, "first"), tmp_path / "first-evaluation")
    text = page.read_text(encoding="utf-8")
    whole = Page(text)
    assert not whole.open and "Evaluation: first" in whole.said
    assert "Two sleep <here>, right?" in whole.said  # shown, not read as a tag
    drawn = re.findall(r'<figure id="([\w.-]+)"', text)
    assert drawn == ["loss-study", "task-xnli", "replay"]
    panels = json.loads(re.findall(r'id="drawing">(.*?)</script>', text, re.DOTALL)[0])["panels"]
    assert len(panels) == text.count('<div class="panel">')
    kept = json.loads((page.parent / "report.json").read_text(encoding="utf-8"))
    assert kept["texts"] == evaluation.to_json()["texts"]
    assert kept["findings"] == answer(evaluation)
    folders = [evaluation_folder(tmp_path, name).name for name in ("first", "evaluation")]
    assert folders == ["first-evaluation", "evaluation"]


def test_a_card_says_scores_comparisons_and_how() -> None:
    found = outcome((SOURCE, PLAIN, MIXED), shots=8)
    said = card_section(found, MIXED)
    golden("evaluation-card/of a run", said)
    bare = changed(found, False, "models", 2, "prompted")
    assert "comes the token `<end>`, but nothing before" in card_section(bare, MIXED)
    loss = found.texts["study"].losses[MIXED]["qaa"]
    assert f"| qaa | base | {loss.bits_per_byte.value:.3f} [" in said
    tables = [part.splitlines() for part in said.split("\n\n") if part.startswith("|")]
    assert len(tables) == 5
    assert all(len({line.count("|") for line in table}) == 1 for table in tables)
