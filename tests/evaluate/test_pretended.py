"""Models on a pretended GPU score texts and tasks there as they do on a processor."""

from pathlib import Path

import pytest
import torch

import tongues
from tests.evaluate.conftest import WORDS, write_asked
from tests.pretended import pretended_gpu
from tongues.evaluate.evaluation import Evaluation

MODELS = ("models/e0", "hub", "small/small@tfidf:2", "small/small@filter:1")


@pytest.fixture
def place(house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with models, texts, a task and its items."""
    for name in ("models", "ensembles", "hub"):
        (tmp_path / name).symlink_to(house / name)
    choices = {"one": "a mal", "other": "the end", "label": 0}
    texts = [f"the {one} of a {two} is an art" for one in WORDS[:4] for two in WORDS[:4]]
    items = [{"said": f"the {word} of"} | choices for word in WORDS[:4]]
    write_asked(tmp_path, texts, items, "qaa")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scored(name: str) -> Evaluation:
    return tongues.evaluate(
        MODELS,
        text="texts",
        tasks="parts",
        data="items",
        dtype="fp32",
        name=name,
        page=False,
        quiet=True,
    )


@pytest.mark.usefixtures("place")
def test_scores_are_those_of_a_processor() -> None:
    with pretended_gpu() as gpu:
        there = scored("there")
    assert gpu.refused == []
    assert gpu.dtypes("linear") >= {(torch.float32, torch.float32)}
    here = scored("here")
    for model in MODELS:
        losses = [of.texts["texts"].losses[model]["qaa"].nats_per_token for of in (there, here)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert {name: tasks.accuracies for name, tasks in there.tasks.items()} == {
        name: tasks.accuracies for name, tasks in here.tasks.items()
    }


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("model", "routing"), [("hub", None), ("small/small", None), ("small/small", "tfidf:2")]
)
def test_texts_are_continued_in_bfloat16(model: str, routing: str | None) -> None:
    with pretended_gpu() as gpu:
        prompts = ["the art of", "a mal"]
        written = tongues.generate(model, prompts, routing=routing, max_tokens=6, n=2, top_k=5)
    assert gpu.refused == []
    assert len(written.texts) == 4
    products = gpu.dtypes("linear")
    assert {dtype for given in products for dtype in given} == {torch.bfloat16}
