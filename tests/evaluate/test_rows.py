from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedModel

from tests.experts.ensemble.making import score
from tests.models.families import tiny
from tongues.evaluate.rows import (
    Row,
    RowScores,
    common_beginnings,
    expert_weights,
    families_of,
    in_batches,
    score_rows,
    score_tokens,
    too_long,
)
from tongues.experts.ensemble.model import open_model
from tongues.models import scorer

VOCABULARY = 300
SIZES = st.lists(st.integers(1, 400), min_size=1, max_size=60)
FAMILIES = ["llama", "qwen2", "gemma2", "gemma3", "gpt-neox", "xglm", "gpt2"]
WAYS = ("filter", "filter:1", "tfidf", "tfidf:1", "tfidf:2", "language")


def plain(model: PreTrainedModel, row: Row) -> RowScores:
    """Each scored token by the model alone, the row alone."""
    with torch.no_grad():
        logs = model(input_ids=torch.tensor(row.tokens)[None, :-1]).logits[0].log_softmax(1)
    gold = torch.tensor(row.tokens)[1:, None]
    best = (logs.argmax(1) == gold[:, 0])[row.start - 1 :]
    return RowScores(logs.gather(1, gold)[row.start - 1 :, 0].numpy(), best.numpy())


def same(found: list[RowScores], expected: list[RowScores]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.log_probs, other.log_probs, atol=1e-5)
        np.testing.assert_array_equal(one.greedy, other.greedy)


def few_shot(demonstrations: int = 20, items: int = 8) -> list[Row]:
    """Items of two and three choices behind demonstrations that all but one of them share."""
    chance = np.random.default_rng(1)

    def some(size: int) -> np.ndarray:
        return chance.integers(1, VOCABULARY, size)

    begun, shown, rows = np.zeros(1, dtype=int), some(demonstrations), []
    for family in range(items):
        shots = shown if family else some(5)
        context = np.concatenate([begun, shots, some(int(chance.integers(3, 18)))])
        for _ in range(2 + family % 2):
            choice = some(int(chance.integers(1, 9)))
            rows.append(Row(np.concatenate([context, choice]), len(context), "qab", family))
    alone = np.array([0, 7, 8])
    rows += [Row(alone, start, "qab", 98 + start // 3) for start in (1, 2, 3)]
    return [rows[place] for place in chance.permutation(len(rows))]


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_shared_scores_as_what_is_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, rows = tiny(name, VOCABULARY), few_shot()
    for weight in model.requires_grad_(False).parameters():
        weight.mul_(3 if weight.ndim == 2 else 1)
    expected = [plain(model, row) for row in rows]
    read: list[int] = []
    model.base_model.register_forward_pre_hook(
        lambda module, args, inputs: read.append((args or [inputs["input_ids"]])[0].numel()),
        with_kwargs=True,
    )
    counts = []
    for constant, value in [("_MOVED", 0.0), ("_MOVED", 1e9), ("_CONTINUED", -1.0)]:
        monkeypatch.setattr(scorer, constant, value)
        read.clear()
        same(score_tokens(model, rows), expected)
        counts.append(sum(read))
    contexts_once, beginnings_once, whole = counts
    assert whole >= sum(len(row.tokens) - 1 for row in rows if row.start < len(row.tokens))
    assert contexts_once < beginnings_once < 0.7 * whole


@pytest.mark.parametrize("name", ["llama", "gemma2"])  # the second one bends its logits
def test_few_numbers_at_a_time_are_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, rows = tiny(name, VOCABULARY), few_shot()
    expected = score_tokens(model, rows)
    monkeypatch.setattr(scorer, "_CPU", (40, 900, 20_000))
    monkeypatch.setattr(scorer, "_CHUNK", 700)
    same(score_tokens(model, rows), expected)


def test_what_is_far_from_what_is_remembered_is_not_shared() -> None:
    """A model that forgets what it was handed reads every row whole."""
    model, rows = tiny("llama", VOCABULARY), few_shot()
    expected = score_tokens(model, rows)
    model.base_model.register_forward_pre_hook(
        lambda module, args, inputs: (args, inputs | {"past_key_values": None}), with_kwargs=True
    )
    same(score_tokens(model, rows), expected)


@pytest.mark.parametrize("way", WAYS)
def test_copies_of_a_model_score_as_it_does(house: Path, way: str) -> None:
    rows = few_shot()
    alone = open_model(str(house / "models/e1"), house)
    copies = open_model(f"small/copies@{way}", house)
    for own, found in zip(score_rows(alone, rows), score_rows(copies, rows), strict=True):
        np.testing.assert_allclose(found.nats, own.nats, atol=1e-5)
        told = ~np.isnan(found.greedy)
        assert (found.greedy == own.greedy)[told].all() and found.greedy[own.greedy == 1].all()


@pytest.mark.parametrize("way", ["tfidf:2", "language", "filter:1"])
def test_rows_score_as_the_ends_of_documents(house: Path, way: str) -> None:
    subject = open_model(f"small/small@{way}", house)
    rows = few_shot()
    documents = [row.tokens[1:] for row in rows]
    whole = score(subject.ensemble, documents, subject.routing, ["qab"] * len(rows))
    for row, found, expected in zip(rows, score_rows(subject, rows), whole, strict=True):
        np.testing.assert_allclose(found.nats, expected.nats[row.start - 1 :], atol=1e-5)


def test_the_last_token_of_a_row_is_only_predicted(house: Path) -> None:
    subject = open_model(str(house / "models/e1"), house)
    row, long = (Row(np.ones(count, dtype=int), 1, None, 0) for count in (97, 98))
    assert (too_long(subject, row), too_long(subject, long)) == (False, True)
    assert len(score_rows(subject, [row])[0].nats) == 96


def test_progress_is_told(house: Path) -> None:
    told: list[tuple[float, str]] = []
    model = open_model("small/copies@tfidf", house)
    score_rows(model, few_shot(), tell=lambda *each: told.append(each))
    whole = [share for share, line in told if line.endswith("has read 22 of 22 texts")]
    assert whole == pytest.approx([1 / 3, 2 / 3, 1])


def behind(shown: np.ndarray, family: int, size: int, choices: int = 2) -> list[Row]:
    """Choices of one token behind a context that begins as others do."""
    own = 1000 + 100 * family + np.arange(size)
    context = np.concatenate([shown, own])
    tokens = [np.concatenate([context, [choice]]) for choice in range(choices)]
    return [Row(each, len(context), None, family) for each in tokens]


def groups(rows: list[Row]) -> list[tuple[int, list[int]]]:
    """The length of each beginning, and the families behind it."""
    found = common_beginnings(families_of(rows, range(len(rows))))
    return [(length, sorted(rows[one.rows[0]].family for one in own)) for length, own in found]


def test_a_family_shares_what_none_of_its_rows_needs_a_score_of() -> None:
    rows = [
        Row(np.array([0, 1, 2, 3, 4]), 4, None, 5),
        Row(np.array([0, 1, 2, 3, 5]), 4, None, 5),
        Row(np.array([0, 1, 9, 3, 5]), 3, None, 6),
        Row(np.array([0, 1, 8, 3, 5]), 3, None, 6),
    ]
    first, second = families_of(rows, range(4))
    assert (first.rows, first.shared, first.beginning.tolist()) == ((0, 1), 3, [0, 1, 2])
    assert (second.rows, second.shared) == ((2, 3), 2)


def test_every_draw_of_demonstrations_is_a_beginning_of_its_own() -> None:
    one, other, short = np.arange(1, 81), np.arange(1, 61) % 37 + 1, np.arange(1, 9)
    rows = [row for n in range(6) for row in behind(one, n, 3)]
    rows += [row for n in range(6, 11) for row in behind(other, n, 4)]
    rows += [row for n in range(11, 14) for row in behind(short, n, 2)]
    assert sorted(groups(rows)) == [
        (0, [11, 12, 13]),
        (60, [6, 7, 8, 9, 10]),
        (80, [0, 1, 2, 3, 4, 5]),
    ]


@given(SIZES, st.integers(1, 3), st.integers(0, 9))
def test_every_family_stands_behind_what_it_begins_with(
    sizes: list[int], draws: int, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    shown = [chance.integers(1, 4, 40) for _ in range(draws)]
    rows = [
        row
        for n, size in enumerate(sizes)
        for row in behind(shown[n % draws], n, size % 7, 1 + n % 3)
    ]
    families = families_of(rows, range(len(rows)))
    met: list[int] = []
    for length, own in common_beginnings(families):
        beginnings = {family.beginning[:length].tobytes() for family in own}
        assert len(beginnings) == 1
        assert all(family.shared >= length for family in own)
        met += [number for family in own for number in family.rows]
    assert sorted(met) == list(range(len(rows)))


@given(SIZES, st.integers(1, 1000))
def test_batches_hold_all_things_and_as_many_as_fit(sizes: list[int], most: int) -> None:
    found = list(in_batches(sizes, int, lambda longest, count: longest * count <= most))
    assert sorted(size for batch in found for size in batch) == sorted(sizes)
    for batch in found:
        assert len(batch) == 1 or batch[0] * len(batch) <= most
        assert batch[0] == max(batch)
        assert batch[0] - min(batch) <= max(8, batch[0] // 8)


@pytest.mark.parametrize("way", ["language", "tfidf:1", "tfidf:2"])
def test_only_experts_with_weight_decide_what_is_greedy(house: Path, way: str) -> None:
    model = open_model(f"small/small@{way}", house)
    experts = [model.ensemble.models[number] for number in range(3)]
    rows: list[Row] = []
    for row in few_shot()[:8]:  # behind each context, what each expert would write
        context = row.tokens[: row.start]
        for expert in experts:
            with torch.no_grad():
                logits = expert(input_ids=torch.tensor(context)[None]).logits[0, -1]
            tokens = np.append(context, int(logits.argmax()))
            rows.append(Row(tokens, row.start, "qab", row.family))
    seen = set()
    for row, scores in zip(rows, score_rows(model, rows), strict=True):
        (active,) = expert_weights(model, row.tokens[1:], "qab")[row.start - 1 :] > 0
        greedy = np.array([plain(expert, row).greedy[0] for expert in experts])
        if greedy[active].all():
            expected = 1.0
        elif scores.nats[0] > np.log(2):
            expected = 0.0 if active.sum() == 1 else np.nan
        else:
            continue
        seen.add((expected, bool(greedy.all())))
        np.testing.assert_equal(scores.greedy[0], expected)
    expected = {(np.nan, False)} if way == "tfidf:2" else {(1.0, False), (0.0, False)}
    assert expected <= seen
