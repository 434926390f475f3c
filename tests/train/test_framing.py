"""A base that begins every text with a token is trained, scored and exported with it."""

from dataclasses import replace
from pathlib import Path
from shutil import copyfile

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from tests.conftest import MakeRecipe
from tests.models.families import save_tiny, tiny
from tests.tokens.bases import gpt
from tongues.core.files import read_lines
from tongues.experts.ensemble.model import open_model
from tongues.models.huggingface import load_model
from tongues.recipe import Recipe
from tongues.runs.record import FrameLosses, read_run
from tongues.text.tokens import Tokens, load_tokenizer, open_tokens, prepare_tokens
from tongues.text.tokens.tokenizer import save_tokenizer
from tongues.train import run_of_recipe
from tongues.train.engine.processor import Processor
from tongues.train.engine.scorer import Scorer
from tongues.train.framing import compare_frames
from tongues.train.run import train
from tongues.train.words import frame_lines
from tongues.train.work import open_work

END, BOS, CONTEXT = 272, 273, 64
EXACT = Processor(torch.device("cpu"), bfloat16=False, threads=1)


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


def trained(recipe: Recipe, workspace: Path, said: list[str]) -> tuple[Path, Tokens]:
    prepare_tokens(recipe, workspace, progress=said.append)
    directory = train(
        replace(run_of_recipe(open_work(recipe)), name="child"), workspace, tell=said.append
    )
    return directory, open_tokens(workspace / "tokens/small")


@pytest.fixture(scope="module")
def begun(
    make_recipe: MakeRecipe, base: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Tokens, list[str]]:
    """A run on text that begins with the token, its tokens, and what was printed."""
    said: list[str] = []
    return *trained(recipe_of(make_recipe, base), tmp_path_factory.mktemp("begun"), said), said


def nats(model: PreTrainedModel, ids: list[int]) -> torch.Tensor:
    """Of each token but the first, by transformers alone."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids])).logits[0, :-1]
    return cross_entropy(logits.double(), torch.tensor(ids[1:]), reduction="none")


def documents(tokens: Tokens, lang: str) -> list[list[int]]:
    shard = tokens.shard(lang, "valid")
    return [part.tolist() for part in np.split(shard.tokens, shard.bounds[1:-1])]


def test_documents_windows_and_prompts_begin_with_it(
    base: Path, begun: tuple[Path, Tokens, list[str]]
) -> None:
    directory, tokens, _ = begun
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


def test_the_base_is_scored_with_and_without(
    base: Path, begun: tuple[Path, Tokens, list[str]]
) -> None:
    directory, tokens, said = begun
    losses = read_run(directory).frame
    assert losses and losses.used and losses.token == "<|im_start|>"
    assert any("with `<|im_start|>` before each document" in line for line in said)
    model, left, sums, count = AutoModelForCausalLM.from_pretrained(base), 4096, [0.0, 0.0], 0
    for document in documents(tokens, "qab"):  # a language that the base knows
        ids = document[1:-1][: min(left, model.config.max_position_embeddings - 1)]
        left -= len(ids)
        sums[0] += float(nats(model, [BOS, *ids])[1:].sum())
        sums[1] += float(nats(model, ids).sum())
        count += len(ids) - 1
        if left < 2:
            break
    assert losses.tokens == count
    assert losses.with_token == pytest.approx(sums[0] / count, rel=1e-6)
    assert losses.without_token == pytest.approx(sums[1] / count, rel=1e-6)
    assert losses.with_token != losses.without_token


def test_a_base_without_positions_is_scored_in_both_ways(
    make_recipe: MakeRecipe, base: Path, tmp_path: Path
) -> None:
    bloom = AutoConfig.for_model("bloom", vocab_size=302, hidden_size=32, n_layer=1, n_head=4)
    folder = save_tiny(AutoModelForCausalLM.from_config(bloom), tmp_path, base / "tokenizer.json")
    copyfile(base / "tokenizer_config.json", folder / "tokenizer_config.json")
    recipe = recipe_of(make_recipe, folder)
    prepare_tokens(recipe, tmp_path, progress=print)
    tokens = open_tokens(tmp_path / "tokens/small")
    scorer = Scorer(load_model(folder), EXACT, tokens.frame, apart=False, chunked=False)
    losses = compare_frames(scorer, tokens, ("qab",))
    assert losses and losses.token == "<|im_start|>"


def test_a_recipe_may_leave_it_out(make_recipe: MakeRecipe, base: Path, tmp_path: Path) -> None:
    recipe = recipe_of(make_recipe, base, "tokens.document_start=none")
    directory, tokens = trained(recipe, tmp_path, [])
    assert tokens.frame.start is None and BOS not in tokens.train("qaa")
    losses = read_run(directory).frame
    assert losses and not losses.used and losses.token == "<|im_start|>"
    assert AutoTokenizer.from_pretrained(directory / "model")("a mal")["input_ids"][0] != BOS
    assert not open_model("child", tmp_path).prompted
    same = load_tokenizer(base).encode("a mal", add_special_tokens=False).ids
    assert open_model("child", tmp_path).encode("a mal").tolist() == same


@pytest.mark.parametrize("used", [True, False])
@pytest.mark.parametrize("better", [True, False])
def test_the_worse_way_is_cautioned_against(used: bool, better: bool) -> None:
    losses = FrameLosses("<bos>", used, *((3.0, 9.0) if used is better else (9.0, 3.0)), 4096)
    lines = frame_lines(losses)
    assert lines[0].endswith("it is used here" if used else "it is not used here")
    assert len(lines) == 2 - better
    if not better:
        assert f"tokens.document_start: {'none' if used else '<bos>'}" in lines[1]
