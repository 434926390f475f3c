"""What a request costs: many streams at once, experts against one model, and llama.cpp's server.

usage: python benchmarks/serve.py SHAPE BASE GGUF LLAMA_SERVER

Starts `tongues serve` on random models of a shape, such as 5M (the vocabulary is 8,192): one
alone, and an ensemble of eight routed by `tfidf:1`. Asks by HTTP from this process, streaming, at
temperature 0: sixteen texts one after another and at once, whose texts must be equal; then one
text by each model, by turns. Then 3,000 requests to `tongues serve --example`, and how long its
first token takes from the command on. At last BASE, a folder, by `tongues serve` in fp32, and the
same as GGUF by llama.cpp's server, each with one thread and without kept prompts. Prints medians
over rounds, and writes them to serve.txt beside this script.
"""

import asyncio
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import torch

from tongues.core.files import file_hash
from tongues.experts.ensemble.lineage import (
    Lineage,
    best_experts,
    describe_expert,
    router_file,
    write_lineage,
)
from tongues.experts.ensemble.router import Router, save_router
from tongues.models import find_shape
from tongues.models.huggingface import build_model, save_model
from tongues.text.synthetic import Drift, World, documents, make_family
from tongues.text.tokens import load_tokenizer
from tongues.text.tokens.tokenizer import save_tokenizer, train_tokenizer

K, VOCABULARY, CONTEXT = 8, 8192, 512
STREAMS, PROMPT, MOST, ROUNDS = 16, 64, 96, 5
REQUESTS, CLIENTS = 3000, 8  # to the example
BASE_ROUNDS, BASE_ALONE = 1, 2  # rounds, and texts one after another, of the base


def make(workspace: Path, shape: str) -> list[str]:
    """One model in `runs/one`, and an ensemble of eight; returns texts to begin with."""
    text = synthetic_text()
    tokenizer = train_tokenizer({"qaa": text}, {"qaa": 3_000_000}, VOCABULARY)
    save_tokenizer(tokenizer, workspace / "tokens")
    described = []
    for number in range(K):
        model = build_model(find_shape(shape), VOCABULARY, CONTEXT, seed=number)
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(3 if weight.ndim == 2 else 1)  # decided opinions: no ties
        place = workspace / f"runs/e{number}"
        save_model(model, place)
        shutil.copyfile(workspace / "tokens/tokenizer.json", place / "tokenizer.json")
        own = {f"part{number}": 1.0}
        described.append(
            describe_expert(
                f"e{number}", place, workspace, languages=own, parent="seed", run=None, tokens=0
            )
        )
    chance = np.random.default_rng(0)
    centres = chance.normal(size=(K, 100))
    router = Router(
        vectors=chance.normal(size=(VOCABULARY, 100)).astype(np.float32),
        centres=centres / np.linalg.norm(centres, axis=1, keepdims=True) * 0.1,
        owners=np.arange(K),
        prior=np.full(K, 1 / K),
        logs=np.log(chance.dirichlet(np.full(VOCABULARY, 0.1), K).T + 1e-9).astype(np.float32),
        common=np.full(VOCABULARY, 1 / VOCABULARY),
    )
    folder = workspace / "ensembles/serve/eight"
    folder.mkdir(parents=True)
    save_router(router, folder / "router.safetensors")
    lineage = Lineage(
        experts=tuple(described),
        languages=best_experts(described),
        base="seed",
        tokenizer_sha256=file_hash(workspace / "tokens/tokenizer.json"),
        router=router_file(folder / "router.safetensors"),
        partition={"by": "file"},
    )
    write_lineage(lineage, folder)
    whole = load_tokenizer(workspace / "tokens")
    ids = whole.encode("".join(text[:200])).ids
    return [whole.decode(ids[PROMPT * n : PROMPT * (n + 1)]) for n in range(STREAMS)]


def synthetic_text() -> list[str]:
    """Documents of a synthetic language."""
    language = make_family(World.of(0), {"qaa": Drift()}, 0)["qaa"]
    return [document.text for document in documents(language, 0, 4000)]


@contextmanager
def serving(workspace: Path, *models: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server of these models: its address and its process."""
    command = [sys.executable, "-m", "tongues", "serve", *models, "--port", "0"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=workspace, env=environment
    )
    try:
        assert server.stdout is not None
        url = re.search(r"http://\S+", server.stdout.readline())
        assert url is not None
        yield url[0], server
    finally:
        server.terminate()
        server.wait(30)


async def stream(client: httpx.AsyncClient, model: str, prompt: str) -> tuple[str, int]:
    """The text that a model writes, and how many tokens it took."""
    body: dict[str, Any] = {
        "model": model,
        "prompt": prompt,
        "max_tokens": MOST,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "logit_bias": {"0": -100},  # no end before the length
        "cache_prompt": False,  # at llama.cpp
    }
    text, tokens = "", 0
    async with client.stream("POST", "/v1/completions", json=body) as answer:
        async for line in answer.aiter_lines():
            if not line.startswith("data: {"):
                continue
            chunk = json.loads(line[6:])
            text += "".join(choice["text"] for choice in chunk["choices"])
            tokens += (chunk.get("usage") or {}).get("completion_tokens", 0)
    return text, tokens


async def one_by_one(client: httpx.AsyncClient, prompts: list[str]) -> list[tuple[str, int]]:
    """Each text when the one before has ended."""
    return [await stream(client, "one", prompt) for prompt in prompts]


async def together(client: httpx.AsyncClient, prompts: list[str]) -> list[tuple[str, int]]:
    """All texts at once."""
    return await asyncio.gather(*(stream(client, "one", prompt) for prompt in prompts))


@contextmanager
def serving_gguf(program: str, file: str) -> Iterator[str]:
    """llama.cpp's server of a file: its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["-m", file, "--port", str(port), "-t", "1", "-tb", "1", "--parallel", str(STREAMS)]
    words += ["-c", str(STREAMS * CONTEXT)]
    server = subprocess.Popen(
        [program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}/"
    try:
        while not answers(url):
            time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait(30)


def answers(url: str) -> bool:
    """Whether a server is there."""
    try:
        return httpx.get(f"{url}health").status_code == 200
    except httpx.TransportError:
        return False


async def measure_base(url: str, model: str, prompts: list[str]) -> tuple[float, float, list[str]]:
    """Tokens a second one after another and at once, of one round, and the texts."""
    once = httpx.Limits(max_keepalive_connections=0)  # llama.cpp's server closes what it kept
    async with httpx.AsyncClient(base_url=url, timeout=600, limits=once) as client:
        await stream(client, model, prompts[0])
        began = time.perf_counter()
        alone = [await stream(client, model, prompt) for prompt in prompts[:BASE_ALONE]]
        middle = time.perf_counter()
        beside = await asyncio.gather(*(stream(client, model, prompt) for prompt in prompts))
        ended = time.perf_counter()
    speeds = [sum(count for _, count in of) for of in (alone, beside)]
    texts = [text for text, _ in beside]
    return speeds[0] / (middle - began), speeds[1] / (ended - middle), texts


def compare_base(base: str, gguf: str, program: str) -> Iterator[str]:
    """Lines about both servers of one model, by turns."""
    words = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8").split()
    prompts = [" ".join(words[40 * n : 40 * (n + 1)]) for n in range(STREAMS)]
    sides: dict[str, list[tuple[float, float, list[str]]]] = {"tongues": [], "llama.cpp": []}
    for _ in range(BASE_ROUNDS):
        with serving(Path(), base, "--dtype", "fp32") as (url, _):
            sides["tongues"].append(asyncio.run(measure_base(url, base, prompts)))
        with serving_gguf(program, gguf) as url:
            sides["llama.cpp"].append(asyncio.run(measure_base(url, base, prompts)))
    for side, rounds in sides.items():
        alone, beside = spread([one for one, _, _ in rounds]), spread([of for _, of, _ in rounds])
        yield f"{side}, tokens a second: {alone} one text after another, {beside} at once"
    pairs = zip(*(rounds[-1][2] for rounds in sides.values()), strict=True)
    same = sum(one == other for one, other in pairs)
    yield f"{same} of {STREAMS} texts are the same"


async def load(url: str) -> int:
    """Ask the example for short texts; returns how many came."""
    body = {"model": "example", "prompt": "esgondo sas", "max_tokens": 4}
    async with httpx.AsyncClient(base_url=url, timeout=600) as client:

        async def ask(count: int) -> int:
            each = [await client.post("/v1/completions", json=body) for _ in range(count)]
            return sum(answer.status_code == 200 for answer in each)

        return sum(await asyncio.gather(*(ask(REQUESTS // CLIENTS) for _ in range(CLIENTS))))


def resident(pid: int) -> float:
    """Megabytes of a process and of those that it started."""
    text = Path(f"/proc/{pid}/status").read_text()
    own = int(text.split("VmRSS:")[1].split()[0]) / 1e3
    children = Path(f"/proc/{pid}/task").glob("*/children")
    return own + sum(resident(int(child)) for of in children for child in of.read_text().split())


def example() -> Iterator[str]:
    """Lines about the server of the example."""
    began = time.perf_counter()
    with serving(Path(), "--example") as (url, server):
        with httpx.Client(base_url=url, timeout=60) as client:
            body = {"prompt": "esgondo sas", "max_tokens": 4, "stream": True}
            with client.stream("POST", "/v1/completions", json=body) as answer:
                next(answer.iter_lines())
                first = time.perf_counter() - began
            for _ in range(100):
                client.post("/v1/completions", json=body)
        before = resident(server.pid)
        began = time.perf_counter()
        came = asyncio.run(load(url))
        seconds, after = time.perf_counter() - began, resident(server.pid)
    yield f"first token of the example {first:.1f} s after the command"
    yield (
        f"{came:,} of {REQUESTS:,} requests by {CLIENTS} clients answered in {seconds:.0f} s;"
        f" memory {before:.0f} MB before, {after:.0f} MB after, {after / before - 1:+.1%}"
    )


async def measure(url: str, prompts: list[str]) -> dict[str, list[float]]:
    """Seconds of everything, by rounds."""
    found: dict[str, list[float]] = {"one by one": [], "together": [], "one": [], "eight": []}
    async with httpx.AsyncClient(base_url=url, timeout=600) as client:
        await together(client, prompts[:2])
        await stream(client, "eight", prompts[0])
        for _ in range(ROUNDS):
            began = time.perf_counter()
            alone = await one_by_one(client, prompts)
            found["one by one"].append(time.perf_counter() - began)
            began = time.perf_counter()
            beside = await together(client, prompts)
            found["together"].append(time.perf_counter() - began)
            assert alone == beside, "the texts differ"
            assert all(tokens == MOST for _, tokens in alone)
            for prompt in prompts[:4]:
                for model in ("one", "eight"):
                    began = time.perf_counter()
                    await stream(client, model, prompt)
                    found[model].append(time.perf_counter() - began)
    return found


def spread(values: list[float]) -> str:
    """The median, and the whole spread."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main(shape: str, base: str, gguf: str, program: str) -> None:
    """Serve, ask, and print."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        prompts = make(workspace, shape)
        (workspace / "one").symlink_to(workspace / "runs/e0")
        (workspace / "eight").symlink_to(workspace / "ensembles/serve/eight")
        with serving(workspace, "one", "eight") as (url, _):
            found = asyncio.run(measure(url, prompts))
    tokens = STREAMS * MOST
    alone = [tokens / seconds for seconds in found["one by one"]]
    beside = [tokens / seconds for seconds in found["together"]]
    ratios = [b / a for a, b in zip(alone, beside, strict=True)]
    latency = [e / o for o, e in zip(found["one"], found["eight"], strict=True)]
    lines = [
        f"{date.today()}, shape {shape}, vocabulary {VOCABULARY:,}, {os.cpu_count()} cores, one of"
        " them the model's; prompts of"
        f" {PROMPT} tokens, {MOST} written; medians and spread of {ROUNDS} rounds",
        f"one text after another     {spread(alone)} tokens a second",
        f"{STREAMS} streams at once         {spread(beside)} tokens a second,"
        f" {spread(ratios)} times as many; texts equal",
        f"one of eight experts       {spread(latency)} times the latency of one model",
    ]
    lines += [*example(), *compare_base(base, gguf, program)]
    print("\n".join(lines))
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
