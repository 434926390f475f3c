"""A base that begins every text with a token is trained, scored and exported with it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from tests.conftest import MakeRecipe
from tests.models.families import save_tiny, tiny
from tests.tokens.bases import gpt
from tongues.core.files import read_lines
from tongues.experts.ensemble.model import open_model
from tongues.recipe import Recipe
from tongues.text.tokens import Tokens, load_tokenizer, open_tokens, prepare_tokens
from tongues.text.tokens.tokenizer import save_tokenizer
from tongues.train import run_of_recipe
from tongues.train.run import train
from tongues.train.work import open_work

END, BOS, CONTEXT = 272, 273, 64


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as Gemma's and Llama 3's: the tokenizer begins every text."""
    folder = tmp_path_factory.mktemp("base")
    save_tokenizer(gpt(["a mal is the ban of art"] * 20, 300), folder / "own", start="<|im_start|>")
    save_tiny(tiny("llama", 302), folder / "model", folder / "own/tokenizer.json")
    (folder / "own/tokenizer_config.json").rename(folder / "model/tokenizer_config.json")
    return folder / "model"


def recipe_of(make_recipe: MakeRecipe, base: Path, *overrides: str) -> Recipe:
    return make_recipe(
        f"tokens.base={base}",
        "tokens.byte_fallback=allow",
        f"train.base={{model: {base}, languages: [qab]}}",
        "model.shape=null",
        "train.budget=3k tokens",
        "train.precision=float32",
        *overrides,
    )


def trained(recipe: Recipe, workspace: Path) -> tuple[Path, Tokens]:
    prepare_tokens(recipe, workspace, progress=print)
    directory = train(replace(run_of_recipe(open_work(recipe)), name="child"), workspace)
    return directory, open_tokens(workspace / "tokens/small")


def nats(model: PreTrainedModel, ids: list[int]) -> torch.Tensor:
    """Of each token but the first, by transformers alone."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids])).logits[0, :-1]
    return cross_entropy(logits.double(), torch.tensor(ids[1:]), reduction="none")


def documents(tokens: Tokens, lang: str) -> list[list[int]]:
    shard = tokens.shard(lang, "valid")
    return [part.tolist() for part in np.split(shard.tokens, shard.bounds[1:-1])]


def test_documents_windows_and_prompts_begin_with_it(
    make_recipe: MakeRecipe, base: Path, tmp_path: Path
) -> None:
    directory, tokens = trained(recipe_of(make_recipe, base), tmp_path)
    for document in documents(tokens, "qaa"):
        assert document[0] == BOS and document[-1] == END
        assert BOS not in document[1:] and END not in document[:-1]
    # the first line of the evaluations is the base's own loss, window by window
    start = AutoModelForCausalLM.from_pretrained(base).eval()
    stream, total, count = tokens.valid("qaa").tolist(), 0.0, 0
    for begin in range(0, (len(stream) - 1) // CONTEXT * CONTEXT, CONTEXT):
        window = [BOS, *stream[begin + 1 : begin + CONTEXT + 1]]
        predicted = torch.tensor(window[1:]) != BOS
        total += float(nats(start, window)[predicted].sum())
        count += int(predicted.sum())
    first = read_lines(directory / "evals.jsonl")[0]
    assert first["lang"] == "qaa" and first["step"] == 0
    assert first["loss"] == pytest.approx(total / count, rel=1e-6)
    # what is exported, and all that reads it, begins texts in the same way
    theirs = AutoTokenizer.from_pretrained(directory / "model")
    assert theirs("a mal")["input_ids"][0] == BOS
    workspace = directory.parents[1]
    for name in ("child", str(directory / "model")):
        model = open_model(name, workspace)
        assert model.first == BOS and model.prompted


def test_a_recipe_may_leave_it_out(make_recipe: MakeRecipe, base: Path, tmp_path: Path) -> None:
    recipe = recipe_of(make_recipe, base, "tokens.document_start=none")
    directory, tokens = trained(recipe, tmp_path)
    assert tokens.frame.start is None and BOS not in tokens.train("qaa")
    assert AutoTokenizer.from_pretrained(directory / "model")("a mal")["input_ids"][0] != BOS
    assert not open_model("child", tmp_path).prompted
    same = load_tokenizer(base).encode("a mal", add_special_tokens=False).ids
    assert open_model("child", tmp_path).encode("a mal").tolist() == same
