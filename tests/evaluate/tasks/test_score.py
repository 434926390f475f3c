"""What a model says to items: the numbers of transformers, by the requests of lm-eval."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.models.families import tiny
from tests.text.corpora import write_rows
from tongues.evaluate.tasks import (
    TASKS,
    FewShotTask,
    Item,
    ItemScore,
    Normalisation,
    Task,
    correct,
    read_fewshot_task,
)
from tongues.evaluate.tasks.score import fewshot_prefix, score_task
from tongues.experts.ensemble.model import Model, open_model
from tongues.text.tokens.tokenizer import save_tokenizer, train_tokenizer

VOCABULARY = 400
SAID = ("It rained all day", "The river rose", "We stayed at home", "They ate in the garden")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Items of xcopa, paws-x and xnli in made sentences."""
    folder = tmp_path_factory.mktemp("data")
    rows: dict[str, list[dict[str, Any]]] = {"xcopa": [], "paws-x": [], "xnli": []}
    for n in range(12):
        one, two, three = (SAID[(n + k) % 4] for k in range(3))
        choices = {"choice1": f"{two}.", "choice2": f"{three} twice."}
        rows["xcopa"].append(
            {"premise": f"{one} {n}.", "question": ("cause", "effect")[n % 2]}
            | {"idx": n, "label": n % 2}
            | choices
        )
        rows["paws-x"].append({"sentence1": f"{one} {n}", "sentence2": two, "label": 0})
        rows["xnli"].append({"premise": f"{one} ", "hypothesis": f"{three} {n}.", "label": n % 3})
    for name, made in rows.items():
        write_rows(folder / name / "en.jsonl", made)
    return folder


@pytest.fixture(scope="module")
def folder(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that sees 128 tokens, with a tokenizer of the items' sentences."""
    folder = tmp_path_factory.mktemp("model")
    texts = [file.read_text() for file in sorted(data.rglob("*.jsonl"))]
    tokenizer = train_tokenizer({"en": texts}, {"en": 20_000}, VOCABULARY)
    save_tokenizer(tokenizer, folder)
    tiny("llama", VOCABULARY, max_position_embeddings=128).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return open_model(str(folder), folder)


class Independent:
    """Requests as lm-eval 0.4.13 makes them, scored by transformers one at a time."""

    def __init__(self, folder: Path) -> None:
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)

    def __call__(self, context: str, continuation: str) -> tuple[float, int]:
        spaces = len(context) - len(context.rstrip())
        if spaces:
            continuation = context[-spaces:] + continuation
            context = context[:-spaces]
        whole = self.tokenizer.encode(context + continuation, add_special_tokens=False)
        start = len(self.tokenizer.encode(context, add_special_tokens=False)) if context else 0
        tokens = torch.tensor([[0, *whole]])
        with torch.inference_mode():
            likely = self.model(tokens).logits.double().log_softmax(-1)[0]
        reached = [float(likely[place, token]) for place, token in enumerate(whole)][start:]
        return sum(reached), len(reached)


@pytest.fixture(scope="module")
def independent(folder: Path) -> Independent:
    return Independent(folder)


@pytest.mark.parametrize("num_fewshot", [0, 2])
@pytest.mark.parametrize("name", ["xcopa", "paws-x", "xnli"])
def test_sums_are_those_of_transformers_by_the_requests_of_lm_eval(
    data: Path, model: Model, independent: Independent, name: str, num_fewshot: int
) -> None:
    fewshot = read_fewshot_task(TASKS.find(name), "en", data, limit=4, num_fewshot=num_fewshot)
    answers = score_task(model, fewshot)
    shown = "".join(
        f"{item.prompt} {item.endings[item.label]}\n\n" for item in fewshot.demonstrations[0]
    )
    assert shown == fewshot_prefix(fewshot.task, fewshot.demonstrations[0])
    assert [score.id for score in answers.scores] == [item.id for item in fewshot.items]
    for item, score in zip(fewshot.items, answers.scores, strict=True):
        found = [independent(f"{shown}{item.prompt}", f" {ending}") for ending in item.endings]
        assert score.sums == pytest.approx([value for value, _ in found], abs=1e-3)
        assert list(score.tokens) == [count for _, count in found]
        assert score.characters == tuple(map(len, item.endings))
        assert score.label == item.label
    assert answers.faults == ()
    assert 0 <= correct(answers.scores, "token").mean() <= 1


def test_a_whole_prompt_may_be_scored(model: Model, independent: Independent) -> None:
    task = Task("whole", "", "", ("{a}", "{b}"))
    item = Item("1", "", ("It rained.", "We stayed."), 0)
    [score] = score_task(model, exam_of(task, item)).scores
    found = [independent("", ending) for ending in item.endings]
    assert score.sums == pytest.approx([value for value, _ in found], abs=1e-3)
    assert list(score.tokens) == [count for _, count in found]


def test_white_space_at_the_seam_belongs_to_the_choice(
    model: Model, independent: Independent
) -> None:
    task = Task("spaces", "", "{a}", ("{b}", "{c}"), separator="")
    item = Item("1", "It rained \n ", ("all day", "day"), 0)
    [score] = score_task(model, exam_of(task, item)).scores
    found = [independent("It rained", f" \n {ending}") for ending in item.endings]
    assert score.sums == pytest.approx([value for value, _ in found], abs=1e-3)


def test_what_does_not_fit_is_left_out_and_never_cut(data: Path, model: Model) -> None:
    task = TASKS.find("xcopa")
    fewshot = read_fewshot_task(task, "en", data, limit=3, num_fewshot=8)
    answers = score_task(model, fewshot)
    assert not answers.scores
    assert "tokens, 8-shot; the context of " in answers.faults[0].sample
    assert {fault.reason for fault in answers.faults} == {"too long for the model"}
    long = Item("long", "It rained " * 100, ("a", "b"), 0)
    some = replace(fewshot, items=(*fewshot.items, long), demonstrations=((),))
    answers = score_task(model, some)
    assert [score.id for score in answers.scores] == [item.id for item in fewshot.items]
    [fault] = answers.faults
    assert (fault.place, fault.reason) == ("item long", "too long for the model")


@pytest.mark.parametrize("spelled", ["unknown", "dropped"])
def test_a_script_that_the_tokenizer_lacks_is_named(model: Model, spelled: str) -> None:
    unknown = "<unk>" if spelled == "unknown" else None
    latin = Tokenizer(models.BPE(unk_token=unknown))
    latin.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<|end|>", "<unk>"]
    latin.train_from_iterator(SAID, trainers.BpeTrainer(vocab_size=200, special_tokens=special))
    lacking = replace(model, tokenizer=latin)
    task = Task("script", "", "{a}", ("{b}", "{c}"))
    known = Item("latin", "It rained", ("all day", "day"), 0)
    thai = Item("thai", "It ฝนตกทั้งวัน", ("all day", "day"), 0)
    answers = score_task(lacking, exam_of(task, known, thai))
    assert [score.id for score in answers.scores] == ["latin"]
    assert [(fault.place, fault.reason) for fault in answers.faults] == [
        ("item thai", "script missing")
    ]
    assert "of its letters" in answers.faults[0].sample


def exam_of(task: Task, *items: Item) -> FewShotTask:
    return FewShotTask(task, "en", items, ((),), ())


# Each choice is the best by one of them alone.
SCORE = ItemScore(
    id="1",
    label=2,
    sums=(-10.0, -12.0, -9.0),
    tokens=(10, 8, 3),
    characters=(10, 20, 9),
)
BEST: dict[Normalisation, int] = {"token": 0, "character": 1, "sum": 2}


@pytest.mark.parametrize("normalisation", BEST)
def test_each_normalisation_has_its_own_answer(normalisation: Normalisation) -> None:
    assert np.argmax(SCORE.scores(normalisation)) == BEST[normalisation]
    assert correct([SCORE], normalisation).tolist() == [normalisation == "sum"]


def test_the_first_of_equals_is_the_answer() -> None:
    same = ItemScore("2", 1, (-2.0, -2.0), (1, 1), (1, 1))
    assert not correct([same], "sum")[0]
