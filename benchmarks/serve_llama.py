"""llama.cpp behind this server, against llama.cpp's own Python server and this server's own engine.

usage: python benchmarks/serve_llama.py FILE.gguf [FOLDER]

Starts `tongues serve FILE.gguf`, `python -m llama_cpp.server` on the same file, and `tongues serve`
on the same model's Hugging Face FOLDER, if one is named; each with one thread for the model. Asks
each by HTTP from this process, streaming, at temperature 0, by turns: one text after another, and
eight at once. Prints medians and spread over rounds of tokens per second of the processor that the
server used, which other work on the machine changes little; also to serve_llama.txt beside this
script. Needs `llama-cpp-python[server]`. The stored figures are of a random Llama of shape 12M in
float32, with 8,192 tokens and the tokenizer of `tongues serve --example`.
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
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path

import httpx

STREAMS, MOST, ROUNDS = 8, 32, 3
PROMPTS = [
    f"{begin} {end}"
    for begin in ("The history of", "A recipe for", "In the north of", "The price of")
    for end in ("bread and how it is made in many countries", "the river and the towns near it")
]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A process until the end of the block."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=quiet, text=True, env=ENVIRONMENT
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


Server = tuple[str, int]  # address and process


def seconds(process: int) -> float:
    """Seconds of the processor that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def tongues(place: str) -> Iterator[Server]:
    """`tongues serve`."""
    command = [sys.executable, "-m", "tongues", "serve", place, "--port", "0"]
    with running(command) as server:
        assert server.stdout is not None
        url = re.search(r"http://\S+", server.stdout.readline())
        assert url is not None
        yield url[0], server.pid


@contextmanager
def llama_cpp(file: str) -> Iterator[Server]:
    """llama.cpp's own Python server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "llama_cpp.server", "--model", file, "--port", str(port)]
    command += ["--n_threads", "1", "--n_threads_batch", "1", "--n_ctx", "2048"]
    command += ["--interrupt_requests", "false"]
    with running(command) as server:
        url = f"http://127.0.0.1:{port}/"
        for _ in range(600):
            try:
                httpx.get(f"{url}v1/models", timeout=5)
                break
            except httpx.TransportError:
                time.sleep(0.5)
        yield url, server.pid


async def stream(client: httpx.AsyncClient, prompt: str) -> tuple[str, int]:
    """The text that a server writes, and how many chunks have text."""
    body = {
        "model": (await models(client))[0],
        "prompt": prompt,
        "max_tokens": MOST,
        "temperature": 0,
        "stream": True,
        "repeat_penalty": 1.0,
        "logit_bias": {"0": -100},
    }
    if client.headers.get("own"):
        del body["repeat_penalty"]
    text, chunks = "", 0
    async with client.stream("POST", "/v1/completions", json=body) as answer:
        assert answer.status_code == 200, await answer.aread()
        async for line in answer.aiter_lines():
            if line.startswith("data: {"):
                new = "".join(choice["text"] for choice in json.loads(line[6:])["choices"])
                text, chunks = text + new, chunks + bool(new)
    return text, chunks


_NAMES: dict[str, list[str]] = {}


async def models(client: httpx.AsyncClient) -> list[str]:
    """The names of what is served."""
    address = str(client.base_url)
    if address not in _NAMES:
        answer = (await client.get("/v1/models")).json()
        _NAMES[address] = [model["id"] for model in answer["data"]]
    return _NAMES[address]


async def measure(
    servers: dict[str, Server],
) -> dict[str, dict[str, list[float]]]:
    """Tokens per second of the processor, by server and texts at once."""
    speeds: dict[str, dict[str, list[float]]] = {name: {"1": [], "8": []} for name in servers}
    async with AsyncClients({name: url for name, (url, _) in servers.items()}) as clients:
        for client in clients.values():
            await stream(client, PROMPTS[0])
        for number in range(ROUNDS):
            for name, client in clients.items():
                process = servers[name][1]
                began = seconds(process)
                alone = [await stream(client, prompt) for prompt in PROMPTS[: STREAMS // 2]]
                count = MOST * len(alone)
                speeds[name]["1"].append(count / (seconds(process) - began))
                began = seconds(process)
                every = await asyncio.gather(*(stream(client, prompt) for prompt in PROMPTS))
                speeds[name]["8"].append(MOST * len(every) / (seconds(process) - began))
            print(f"round {number + 1}", file=sys.stderr)
    return speeds


class AsyncClients:
    """A client of each address."""

    def __init__(self, urls: dict[str, str]) -> None:
        self._clients = {
            name: httpx.AsyncClient(
                base_url=url, timeout=600, headers={"own": "1"} if "tongues" in name else {}
            )
            for name, url in urls.items()
        }

    async def __aenter__(self) -> dict[str, httpx.AsyncClient]:
        return self._clients

    async def __aexit__(self, *error: object) -> None:
        for client in self._clients.values():
            await client.aclose()


def spread(values: list[float]) -> str:
    """The median, and the whole spread."""
    return f"{statistics.median(values):7.1f} ({min(values):.1f} to {max(values):.1f})"


def main(file: str, folder: str | None = None) -> None:
    """Serve, ask, and print."""
    with ExitStack() as stack:
        servers = {"llama_cpp.server": stack.enter_context(llama_cpp(file))}
        servers["tongues, llama.cpp"] = stack.enter_context(tongues(file))
        if folder:
            servers["tongues, own"] = stack.enter_context(tongues(folder))
        speeds = asyncio.run(measure(servers))
    load = os.getloadavg()[0]
    lines = [
        f"{date.today()}, {Path(file).name} of {Path(file).stat().st_size / 1e6:,.0f} MB,"
        f" {os.cpu_count()} cores at load {load:.0f}, one thread for each model; {MOST} tokens;"
        f" medians and spread of {ROUNDS} rounds, tokens per second of the processor",
        f"{'':20} {'one after another':>24} {'eight at once':>26}",
    ]
    lines += [
        f"{name:20} {spread(of['1']):>24} {spread(of['8']):>26}" for name, of in speeds.items()
    ]
    theirs = speeds["llama_cpp.server"]
    for name in list(speeds)[1:]:
        ratios = {
            way: [a / b for a, b in zip(speeds[name][way], theirs[way], strict=True)]
            for way in "18"
        }
        each = ", ".join(f"{statistics.median(values):.2f}" for values in ratios.values())
        lines.append(f"{name}: {each} times llama_cpp.server's, by rounds")
    print("\n".join(lines))
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
