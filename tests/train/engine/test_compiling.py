import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.utils import make_boxed_func
from torch.distributed.fsdp import FSDPModule
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from tests.command import start_command
from tests.conftest import MakeRecipe
from tests.models.families import WIDTHS
from tests.train.making import STOPPABLE, digests, train_and_stop
from tongues.core.files import read_lines
from tongues.runs.record import read_run
from tongues.text.tokens.frame import TextFrame
from tongues.train import run_of_recipe
from tongues.train.engine.compiling import try_compiled
from tongues.train.engine.fitting import fit_scorer
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import Processor, decoder_layers, release_memory
from tongues.train.engine.scorer import Scorer
from tongues.train.engine.sharding import full_tensor, make_mesh, shard
from tongues.train.engine.trial import differences, exact_products, take_gradients
from tongues.train.engine.vocabulary import powers
from tongues.train.run import train
from tongues.train.work import open_work

COMPILED = (*STOPPABLE, "train.compile=on")
EXACT = Processor(torch.device("cpu"), bfloat16=False, threads=1)
CONTEXT, END = 48, 3
SIZES: dict[str, Any] = WIDTHS | {"num_key_value_heads": 2, "head_dim": 16, "pad_token_id": 0}
SIZES |= {"vocab_size": 96, "hidden_size": 64}


def made(kind: str, **settings: Any) -> PreTrainedModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **SIZES | settings))
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=0.2)
    return model.train()


def windows(seed: int = 1, samples: int = 2) -> Tensor:
    chance = torch.Generator().manual_seed(seed)
    return torch.randint(END + 1, 96, (samples, CONTEXT + 1), generator=chance)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_compiled_too_a_run_is_the_same_bytes_in_another_process_and_resumed(
    make_recipe: MakeRecipe, recipe_file: Path, workspace: Path, precision: str
) -> None:
    settings = (*COMPILED, f"train.precision={precision}")
    command = [sys.executable, "-m", "tongues", "train", str(recipe_file), *settings]
    subprocess.run([*command, "train.run=alone", "--workspace", str(workspace)], check=True)
    alone = workspace / "runs/alone"
    plan = run_of_recipe(open_work(make_recipe(*settings)))
    train_and_stop(replace(plan, name="stopped"), workspace)
    stopped = train(replace(plan, name="stopped"), workspace)
    record = read_run(stopped)
    assert record.engine
    assert record.engine["compiled"]
    assert digests(stopped) == digests(alone)
    written = replace(plan, settings=plan.settings.model_copy(update={"compile": "off"}))
    plain = train(replace(written, name="plain"), workspace)
    for found, expected in zip(
        read_lines(alone / "evals.jsonl"), read_lines(plain / "evals.jsonl"), strict=True
    ):
        tolerance = 1e-5 if precision == "float32" else 1e-2
        assert found["loss"] == pytest.approx(expected["loss"], rel=tolerance)


@pytest.mark.long
def test_without_a_compiler_a_run_says_so_and_goes_on(
    recipe_file: Path, workspace: Path, tmp_path: Path
) -> None:
    settings = ["train.compile=on", "train.budget=2k tokens"]
    words = ["train", str(recipe_file), *settings, "--workspace", str(workspace)]
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    code = (  # what CXX says at a start
        "from torch._inductor import config; config.cpp.cxx = (None, '/nowhere/c++')\n"
        "from tongues.verbs.main import main; main()"
    )
    done = start_command(words, environment=os.environ | cache, code=code).wait()
    assert done.returncode == 0, done.stderr
    assert "layers are not compiled" in done.stderr
    record = read_run(workspace / "runs/small")
    assert record.status == "finished"
    assert record.engine
    assert not record.engine["compiled"]


def readied(backend: Any, kind: str = "llama") -> Scorer:
    """A scorer whose layers and loss a backend is to compile."""
    torch.compiler.reset()
    model = made(kind)
    scorer = Scorer(model, EXACT, TextFrame(END, END), chunked=True)
    for layer in decoder_layers(model):
        layer.compile(dynamic=False, backend=backend)
    scorer.powers = torch.compile(powers, dynamic=False, backend=backend)
    return scorer


def stepped(scorer: Scorer, batch: torch.Tensor) -> list[torch.Tensor]:
    objective, nats = scorer(batch)
    objective.backward()
    return [nats, *take_gradients(scorer).values()]


def test_compiled_layers_are_tried_without_a_trace_and_compiled_once() -> None:
    graphs: list[torch.fx.GraphModule] = []

    def right(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    scorer, batch = readied(right), windows(samples=3)
    chance = torch.get_rng_state()
    assert try_compiled(scorer, batch, Processes()) is None
    compiled = len(graphs)
    assert compiled >= 2  # a layer, and the loss
    assert torch.equal(chance, torch.get_rng_state())
    assert all(weight.grad is None for weight in scorer.parameters())
    stepped(scorer, batch)
    assert len(graphs) == compiled
    assert all("_compiled_call_impl" in vars(layer) for layer in decoder_layers(scorer.model))


class TooFewRegisters(Exception):
    pass


def wrong(graph: torch.fx.GraphModule, inputs: Any) -> Any:
    """Gives the first result a hundredth too large."""
    return lambda *given: [
        result * 1.01 if number == 0 else result
        for number, result in enumerate(graph.forward(*given))
    ]


def wrong_backward(graph: torch.fx.GraphModule, inputs: Any) -> Any:
    backward = aot_autograd(fw_compiler=make_boxed, bw_compiler=lambda graph, _: boxed(graph, 1.1))
    return backward(graph, inputs)


def make_boxed(graph: torch.fx.GraphModule, inputs: Any) -> Any:
    return boxed(graph, 1.0)


def boxed(graph: torch.fx.GraphModule, times: float) -> Any:
    return make_boxed_func(
        lambda *given: [
            result * times if isinstance(result, torch.Tensor) else result
            for result in graph.forward(*given)
        ]
    )


def failing(graph: torch.fx.GraphModule, inputs: Any) -> Any:
    raise TooFewRegisters("out of resource: shared memory\nmore")


def failing_when_run(graph: torch.fx.GraphModule, inputs: Any) -> Any:
    def run(*given: object) -> None:
        raise TooFewRegisters

    return run


def failing_backward(graph: torch.fx.GraphModule, inputs: Any) -> Any:
    def fails(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        return make_boxed_func(lambda *given: failing(graph, inputs))

    return aot_autograd(fw_compiler=make_boxed, bw_compiler=fails)(graph, inputs)


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        (wrong, "compiled, "),
        (wrong_backward, "compiled, the gradient of `model.model"),
        (failing, "out of resource: shared memory"),
        (failing_when_run, "TooFewRegisters"),
        (failing_backward, "out of resource: shared memory"),
    ],
)
def test_a_compiler_that_errs_or_fails_is_told_and_left(backend: Any, reason: str) -> None:
    plain, batch = Scorer(made("llama"), EXACT, TextFrame(END, END), chunked=True), windows()
    expected = stepped(plain, batch)
    scorer = readied(backend)
    chance = torch.get_rng_state()
    told = try_compiled(scorer, batch, Processes())
    assert told is not None and reason in told and "\n" not in told
    assert torch.equal(chance, torch.get_rng_state())
    assert all(torch.equal(*pair) for pair in zip(stepped(scorer, batch), expected, strict=True))


@pytest.mark.parametrize("backend", [failing, failing_backward, wrong])
def test_shared_out_weights_are_computed_with_as_before_after_a_failure(backend: Any) -> None:
    plain, batch = Scorer(made("llama"), EXACT, TextFrame(END, END), chunked=True), windows()
    expected = stepped(plain, batch)
    scorer = readied(backend)
    shard(scorer, make_mesh(Processes(), "cpu", offload=True), bfloat16=False)
    try:
        assert try_compiled(scorer, batch, Processes()) is not None
        found = stepped(scorer, batch)
    finally:
        torch.distributed.destroy_process_group()
    for value, right in zip(found, expected, strict=True):
        torch.testing.assert_close(full_tensor(value), right)


def test_an_older_pytorch_computes_as_written_where_a_compiler_errs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(FSDPModule, "reset_iter_state", raising=False)  # 2.11 lacks it
    scorer = readied(wrong)
    shard(scorer, make_mesh(Processes(), "cpu", offload=True), bfloat16=False)
    try:
        assert try_compiled(scorer, windows(), Processes()) is not None
        assert stepped(scorer, windows())
    finally:
        torch.distributed.destroy_process_group()


def test_experts_are_compared_though_their_balance_is_of_a_whole_batch() -> None:
    scorer = readied("eager", "qwen3_moe")
    weight = scorer.balance_weight
    assert weight > 0
    assert try_compiled(scorer, windows(), Processes()) is None
    assert (scorer.balance_weight, scorer.balance) == (weight, None)


def test_a_gpus_allocator_gives_back_what_it_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []
    monkeypatch.setattr("gc.collect", lambda: 0)  # of all that other tests left
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: given.append("back"))
    release_memory()
    assert not given  # which would start CUDA where nothing used it
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    release_memory()
    assert given


MATMUL: Any = torch.backends.cuda.matmul


@pytest.mark.parametrize("before", ["highest", "high", "medium"])
def test_a_trial_multiplies_in_float32_whatever_was_set(before: str) -> None:
    seen: list[tuple[str, str]] = []

    def watch(*given: object) -> None:
        seen.append((torch.get_float32_matmul_precision(), MATMUL.fp32_precision))

    model = made("llama")
    model.register_forward_pre_hook(watch)
    processor = Processor(torch.device("cpu"), bfloat16=False, threads=1)
    options = {"context": CONTEXT, "frame": TextFrame(END, END), "tell": lambda line: None}
    try:
        torch.set_float32_matmul_precision(before)
        named = MATMUL.fp32_precision
        fit_scorer(model, processor, recompute=False, compiled=False, **options)
        assert torch.get_float32_matmul_precision() == before
        assert MATMUL.fp32_precision == named
    finally:
        torch.set_float32_matmul_precision("highest")
    assert len(seen) >= 2 and set(seen) == {("highest", "ieee")}


def test_what_the_newer_names_say_is_restored_too() -> None:
    """PyTorch's older name cannot be asked after its newer one was set."""
    try:
        MATMUL.fp32_precision = "tf32"
        with exact_products():
            assert torch.get_float32_matmul_precision() == "highest"
            assert MATMUL.fp32_precision == "ieee"
        assert MATMUL.fp32_precision == "tf32"
    finally:
        torch.set_float32_matmul_precision("highest")


def test_gradients_differ_by_kind_of_weights() -> None:
    right = {"layers.0.q": torch.ones(4), "layers.1.q": torch.ones(4), "norm": torch.zeros(2)}
    assert differences(right, right) == {"layers.#.q": 0.0, "norm": 0.0}
    found = right | {"layers.1.q": torch.full((4,), 1.5)}
    assert differences(found, right)["layers.#.q"] == pytest.approx((1 / 8) ** 0.5)
    assert differences(right | {"norm": torch.ones(2)}, right)["norm"] == float("inf")
    assert max(differences({"norm": torch.zeros(2)}, right).values()) == float("inf")
