"""What a request costs beside llama.cpp's server.

usage: python benchmarks/serve.py BASE GGUF LLAMA_SERVER

Asks by HTTP from this process, streaming, at temperature 0: BASE, a folder, by `tongues serve` in
fp32, and the same as GGUF by llama.cpp's server, each with one thread and without kept prompts.
Prints medians over rounds, and writes them to serve.txt beside this script.
"""

import asyncio
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import httpx

STREAMS, MOST = 16, 96  # at once, and tokens of each
BASE_ROUNDS, BASE_ALONE = 1, 2  # rounds, and texts one after another, of the base


@contextmanager
def serving(base: str) -> Iterator[str]:
    """A server of the base: its address."""
    command = [sys.executable, "-m", "tongues", "serve", base, "--dtype", "fp32", "--port", "0"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert server.stdout is not None
        url = re.search(r"http://\S+", server.stdout.readline())
        assert url is not None
        yield url[0]
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


@contextmanager
def serving_gguf(program: str, file: str) -> Iterator[str]:
    """llama.cpp's server of a file: its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["-m", file, "--port", str(port), "-t", "1", "-tb", "1", "--parallel", str(STREAMS)]
    words += ["-c", str(STREAMS * 512)]
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
        with serving(base) as url:
            sides["tongues"].append(asyncio.run(measure_base(url, base, prompts)))
        with serving_gguf(program, gguf) as url:
            sides["llama.cpp"].append(asyncio.run(measure_base(url, base, prompts)))
    for side, rounds in sides.items():
        alone, beside = spread([one for one, _, _ in rounds]), spread([of for _, of, _ in rounds])
        yield f"{side}, tokens a second: {alone} one text after another, {beside} at once"
    pairs = zip(*(rounds[-1][2] for rounds in sides.values()), strict=True)
    same = sum(one == other for one, other in pairs)
    yield f"{same} of {STREAMS} texts are the same"


def spread(values: list[float]) -> str:
    """The median, and the whole spread."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main(base: str, gguf: str, program: str) -> None:
    """Serve, ask, and print."""
    cores = f"{os.cpu_count()} cores, one of them a model's"
    lines = [f"{date.today()}, {cores}; a base in fp32 by both servers"]
    lines += compare_base(base, gguf, program)
    print("\n".join(lines))
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
