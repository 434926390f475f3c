"""A short course of training by any number of processes, for the tests beside it."""

import json
import multiprocessing
import os
import socket
from collections import deque
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import Lfm2Config, Lfm2ForCausalLM, LlamaConfig, LlamaForCausalLM

from tongues.core.errors import UserError
from tongues.models.huggingface import open_layout, save_model
from tongues.models.sources import FolderWeights
from tongues.text.tokens.frame import TextFrame
from tongues.train.checkpoint import Checkpoints, Position
from tongues.train.engine.loading import fill_weights
from tongues.train.engine.processes import Processes, join_processes
from tongues.train.engine.processor import Processor, decoder_layers
from tongues.train.engine.scorer import Scorer
from tongues.train.engine.sharding import (
    full_tensor,
    gather_layers,
    local_rows,
    make_mesh,
    reshard,
    shard,
    synchronize,
)

STEPS, SAMPLES, CONTEXT, VOCABULARY = 4, 8, 16, 61


def make_scorer(tied: bool = False, bfloat16: bool = False) -> Scorer:
    """A model so small that its weights do not divide evenly, always the same."""
    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=20,
        intermediate_size=28,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        tie_word_embeddings=tied,
        initializer_range=0.2,
    )
    processor = Processor(torch.device("cpu"), bfloat16, 1)
    return Scorer(LlamaForCausalLM(config), processor, TextFrame(0, 0), chunked=True)


def batch(step: int) -> torch.Tensor:
    """The windows of a step, over all processes."""
    chance = torch.Generator().manual_seed(step)
    return torch.randint(VOCABULARY, (SAMPLES, CONTEXT + 1), generator=chance)


def backward(scorer: Scorer, step: int, processes: Processes, parts: int) -> float:
    """Leave the gradient of a step's mean objective in the weights; returns the mean nats."""
    total = 0.0
    for part in range(parts):
        windows = batch(step)[processes.rank * parts + part :: processes.count * parts]
        synchronize(scorer, part == parts - 1)
        objective, nats = scorer(windows)
        (objective / (SAMPLES * CONTEXT)).backward()
        total += nats.item()
    return processes.sum([total])[0] / (SAMPLES * CONTEXT)


def make_optimizer(scorer: Scorer) -> torch.optim.Optimizer:
    return torch.optim.AdamW(scorer.parameters(), lr=1e-2, fused=True)


def course(scorer: Scorer, processes: Processes, directory: Path) -> list[float]:
    """Train from the newest checkpoint to the end, a checkpoint a step; returns the losses."""
    optimizer, losses = make_optimizer(scorer), []
    with Checkpoints(directory, scorer, optimizer, processes) as checkpoints:
        position, _ = checkpoints.load()
        for step in range(position.step if position else 0, STEPS):
            losses.append(backward(scorer, step, processes, parts=2))
            nn.utils.clip_grad_norm_(scorer.parameters(), 1.0)
            checkpoints.wait()
            optimizer.step()
            optimizer.zero_grad()
            with torch.no_grad():  # as an evaluation does: whole weights are left behind
                scorer(batch(0))
            checkpoints.save(Position(step + 1, 0.0, 0.0), milestone=True)
    return losses


def weights(scorer: Scorer, processes: Processes) -> list[str]:
    """The bytes of each weight, in the first process."""
    groups = list(gather_layers(scorer, processes))
    return [weight.numpy().tobytes().hex() for group in groups for weight in group.values()]


def run_together(count: int, folder: Path) -> list[dict[str, Any]]:
    """What each of `count` processes found."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    everywhere = {
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    context = multiprocessing.get_context("forkserver")
    running = [
        context.Process(
            target=main,
            args=(folder, everywhere | {"RANK": str(rank), "LOCAL_RANK": str(rank)}),
        )
        for rank in range(count)
    ]
    for process in running:
        process.start()
    for process in running:
        process.join(timeout=120)
    assert [process.exitcode for process in running] == [0] * count
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(count)]


def _differences(
    processes: Processes,
    tied: bool = False,
    compiled: bool = False,
    shards: int | None = None,
    offload: bool = False,
) -> list[float]:
    """How far gradients and their norm are from those of one process, each relative to its own."""
    alone, shared = make_scorer(tied), make_scorer(tied)
    backward(alone, 0, Processes(), parts=1)
    if compiled:
        for block in decoder_layers(shared.model):
            block.compile(backend="aot_eager")  # quickly: the order of things is what matters
    mesh = make_mesh(processes, "cpu", shards)
    shard(shared, mesh, bfloat16=False, offload=offload)
    backward(shared, 0, processes, parts=2)
    return _gaps(shared, alone)


def _gaps(shared: Scorer, alone: Scorer) -> list[float]:
    """Of each gradient, and of their norm."""
    pairs = [
        (found.grad, expected.grad)
        for found, expected in zip(shared.parameters(), alone.parameters(), strict=True)
    ]
    differences = [
        float((full_tensor(found) - expected).norm() / expected.norm())
        for found, expected in pairs
        if found is not None and expected is not None
    ]
    assert len(differences) == len(pairs)
    norm = float(full_tensor(nn.utils.clip_grad_norm_(shared.parameters(), 1.0)))
    expected = float(nn.utils.clip_grad_norm_(alone.parameters(), 1.0))
    return [*differences, abs(norm - expected) / expected]


def _rows_differences(processes: Processes) -> list[float]:
    """The same of documents in rows, of which no two processes have any of the same width."""
    config = Lfm2Config(
        vocab_size=VOCABULARY,
        hidden_size=20,
        intermediate_size=28,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        layer_types=["conv", "full_attention"],
    )
    processor, frame = Processor(torch.device("cpu"), False, 1), TextFrame(0, 0)
    torch.manual_seed(5)
    models = [Lfm2ForCausalLM(config) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    alone, shared = (Scorer(m, processor, frame, apart=True, chunked=True) for m in models)
    alone.rows = shared.rows = True
    chance = torch.Generator().manual_seed(1)
    windows = torch.randint(1, VOCABULARY, (processes.count, 101), generator=chance)
    for row, length in enumerate((10, 40, 100, 20)[: processes.count]):
        windows[row, ::length] = 0
    alone(windows)[0].backward()
    shard(shared, make_mesh(processes, "cpu"), bfloat16=False)
    shared(windows[processes.rank :][:1])[0].backward()
    return _gaps(shared, alone)


def _loaded(processes: Processes, folder: Path) -> list[str]:
    """The bytes of a model that is read in shares and written layer by layer, in the first."""
    base, left = folder / "base", folder / "left"
    processes.once(lambda: make_scorer(tied=True).model.save_pretrained(base))
    source = FolderWeights(base, open_layout(base), None)
    assert all(weight.is_meta for weight in source.model.parameters())
    frame, processor = TextFrame(0, 0), Processor(torch.device("cpu"), False, 1)
    scorer = Scorer(source.model, processor, frame, chunked=True)
    shard(scorer, make_mesh(processes, "cpu"), bfloat16=False)
    fill_weights(scorer, source.model, source, processor.device, processes, "here")
    assert all(len(local_rows(w)[0]) < len(w) for w in scorer.parameters())
    backward(scorer, 0, processes, parts=2)
    groups = gather_layers(scorer, processes)
    if processes.first:
        left.mkdir()
        save_model(source.model, left, base, groups)
    deque(groups, maxlen=0)
    return weights(scorer, processes)


def _refuse() -> None:
    raise UserError("no room", where="here", hint="make some", code="full")


def main(folder: Path, environment: dict[str, str]) -> None:
    """Find out all that the tests ask of several processes, in one start of them."""
    os.environ.update(environment)
    torch.set_num_threads(1)
    processes = join_processes("cpu")
    rank = processes.rank
    refusal = ""
    try:
        processes.once(_refuse)
    except UserError as error:
        refusal = str(error)
    found: dict[str, Any] = {
        "sum": processes.sum([rank + 1.0, 0.1]),
        "any": [processes.any(rank == 1), processes.any(False)],
        "once": processes.once(lambda: {"rank": rank, "text": "π"}),
        "refusal": refusal,
        "share": list(processes.share(range(5))),
    }
    cases: dict[str, dict[str, Any]] = {
        "untied": {},
        "tied": {"tied": True},
        "compiled": {"tied": True, "compiled": True},
        "copies": {"shards": processes.count // 2},
        "offloaded": {"offload": True},
    }
    for name, changes in cases.items():
        found[name] = _differences(processes, **changes)
    found["rows"] = _rows_differences(processes)
    narrow, narrow_alone = make_scorer(bfloat16=True), make_scorer(bfloat16=True)
    shard(narrow, make_mesh(processes, "cpu"), bfloat16=True)
    found["narrow"] = [
        backward(narrow, 0, processes, parts=1),
        backward(narrow_alone, 0, Processes(), parts=1),
    ]
    reshard(narrow)
    found["loaded"] = _loaded(processes, folder)
    for start in ("from-none", "from-one", "from-several"):
        scorer = make_scorer()
        shard(scorer, make_mesh(processes, "cpu"), bfloat16=False)
        found[start] = {
            "losses": course(scorer, processes, folder / start),
            "weights": weights(scorer, processes),
        }
        processes.once(lambda: halve(folder / "from-none", folder / "from-several"))
    (folder / f"{rank}.json").write_text(json.dumps(found))


def halve(whole_course: Path, half: Path) -> None:
    """Copy a course's checkpoints up to its middle."""
    if half.exists():
        return
    for step in range(1, STEPS // 2 + 1):
        name = f"milestone-{step:08d}"
        (half / name).mkdir(parents=True)
        for file in (whole_course / name).iterdir():
            (half / name / file.name).write_bytes(file.read_bytes())
