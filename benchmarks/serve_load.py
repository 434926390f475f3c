"""A server under a load of all kinds: leaks, wrong answers, requests that wait for ever.

usage: python benchmarks/serve_load.py [MINUTES]

Starts `tongues serve` on an ensemble of eight small experts, and asks it for ten minutes (if left
out) from many connections: streamed and whole, one text and several, bodies that are no JSON, of
wrong kinds, too large, sent a byte at a time or not to their end, connections cut while an answer
is streamed, readers that do not read, and more texts at once than may wait. Every text at
temperature 0 must be the one that was written before the load began. Every answer must be one that
the API knows: no 5xx but 503 for too many. Prints what was asked and answered, memory and open
files by the minute, and what the metrics say when all has ended; also to serve_load.txt beside
this script.
"""

import asyncio
import json
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import date
from pathlib import Path
from typing import Any

import httpx
from serve import make, serving

KNOWN = {200, 400, 404, 405, 408, 413, 415, 422, 429, 503}
Ask = Callable[["Load"], Awaitable[None]]


class Load:
    """What was asked, and what came back."""

    def __init__(self, client: httpx.AsyncClient, port: int, prompts: list[str]) -> None:
        self.client, self.port, self.prompts = client, port, prompts
        self.answers: Counter[str] = Counter()
        self.texts: dict[str, str] = {}
        self.wrong: list[str] = []
        self.random = random.Random(0)

    def note(self, kind: str, status: int) -> None:
        """Count an answer."""
        self.answers[f"{kind}: {status}"] += 1
        if status not in KNOWN:
            self.wrong.append(f"{kind} was answered {status}")


def body(prompt: str | list[str], **more: Any) -> dict[str, Any]:
    """A request whose text is always the same."""
    return {"model": "eight", "prompt": prompt, "max_tokens": 40, "temperature": 0, **more}


async def whole(load: Load) -> None:
    """A text, or several, in one answer."""
    prompts = load.random.choices(load.prompts, k=load.random.randint(1, 3))
    answer = await load.client.post("/v1/completions", json=body(prompts, logprobs=2, weights=True))
    load.note("whole", answer.status_code)
    if answer.status_code == 200:
        for prompt, choice in zip(prompts, answer.json()["choices"], strict=True):
            if choice["text"] != load.texts.setdefault(prompt, choice["text"]):
                load.wrong.append(f"another text behind `{prompt}`")


async def streamed(load: Load) -> None:
    """A text as it is written."""
    prompt, text, done = load.random.choice(load.prompts), "", False
    async with load.client.stream(
        "POST", "/v1/completions", json=body(prompt, stream=True)
    ) as answer:
        load.note("streamed", answer.status_code)
        if answer.status_code != 200:
            return
        async for line in answer.aiter_lines():
            done = done or line == "data: [DONE]"
            if line.startswith("data: {"):
                text += "".join(c["text"] for c in json.loads(line[6:])["choices"])
    if not done or text != load.texts.get(prompt, text):
        load.wrong.append(f"a stream behind `{prompt}` ended early or differs")


async def drawn(load: Load) -> None:
    """Texts at random, with everything a request can say."""
    said = body(
        load.random.choice(load.prompts),
        temperature=load.random.choice([0.1, 1, 2]),
        top_p=load.random.choice([0.3, 1]),
        n=load.random.randint(1, 4),
        stop=load.random.choice([None, " ", ["e", "the"]]),
        presence_penalty=load.random.uniform(-2, 2),
        logit_bias={"5": load.random.uniform(-100, 100)},
        echo=load.random.random() < 0.5,
        routing=load.random.choice(["tfidf", "tfidf:2", "filter", "filter:1"]),
    )
    answer = await load.client.post("/v1/completions", json=said)
    load.note("at random", answer.status_code)


async def malformed(load: Load) -> None:
    """What is no request."""
    content = load.random.choice(
        [
            b"",
            b"{",
            b"[]",
            b"\xff\xfe",
            b"null",
            b'{"model": "none", "prompt": "x"}',
            b'{"model": "eight", "prompt": {"a": 1}}',
            b'{"model": "eight", "prompt": "x", "max_tokens": -1}',
            b'{"model": "eight", "prompt": "x", "temperature": NaN}',
            b'{"model": "eight", "prompt": [999999999]}',
            b'{"model": "eight", "prompt": "x", "max_tokens": 1e400}',
            b'{"model": "eight", "prompt": "' + b"[" * 100_000 + b'"}',
            b"[" * 100_000,
        ]
    )
    kind = load.random.choice(["application/json", "text/plain"])
    path = load.random.choice(["/v1/completions", "/v1/chat/completions", "/v1/none"])
    answer = await load.client.post(path, content=content, headers={"content-type": kind})
    load.note("malformed", answer.status_code)
    if answer.status_code == 200:
        load.wrong.append(f"{content[:60]!r} was answered")


async def huge(load: Load) -> None:
    """More than a body may hold, said or not."""
    try:
        answer = await load.client.post("/v1/completions", json=body("x" * 3_000_000))
        load.note("huge", answer.status_code)
    except httpx.TransportError:
        load.answers["huge: cut off"] += 1


async def cut(load: Load) -> None:
    """A connection that goes while a text is written, or before the body is whole."""
    reader, writer = await asyncio.open_connection("127.0.0.1", load.port)
    content = json.dumps(body(load.prompts[0], stream=load.random.random() < 0.5)).encode()
    head = (
        "POST /v1/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"content-length: {len(content)}\r\n\r\n"
    ).encode()
    if load.random.random() < 0.5:
        content = content[: len(content) // 2]
    writer.write(head + content)
    await writer.drain()
    if load.random.random() < 0.5:
        await asyncio.wait_for(asyncio.shield(asyncio.sleep(load.random.random() / 4)), 1)
    if load.random.random() < 0.5:
        writer.transport.abort()
    else:
        writer.close()
    del reader
    load.answers["cut"] += 1


async def slow(load: Load) -> None:
    """A body that comes a byte at a time, or an answer that nobody reads."""
    reader, writer = await asyncio.open_connection("127.0.0.1", load.port, limit=1)
    content = json.dumps(body(load.prompts[1], stream=True)).encode()
    head = (
        "POST /v1/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"content-length: {len(content)}\r\n\r\n"
    ).encode()
    try:
        if load.random.random() < 0.5:
            for byte in head + content:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.1)
        else:
            writer.write(head + content)
            await asyncio.sleep(5)
        await asyncio.wait_for(reader.read(20), 30)
        load.answers["slow"] += 1
    except (OSError, TimeoutError):
        load.answers["slow: cut off"] += 1
    writer.close()


async def crowd(load: Load) -> None:
    """More texts at once than may wait."""
    asked = [
        load.client.post("/v1/completions", json=body(load.prompts[0], n=8, temperature=1))
        for _ in range(14)
    ]
    for answer in await asyncio.gather(*asked):
        load.note("crowd", answer.status_code)


KINDS: dict[Ask, float] = {
    whole: 6,
    streamed: 6,
    drawn: 4,
    malformed: 4,
    huge: 0.3,
    cut: 4,
    slow: 1,
    crowd: 0.1,
}


async def ask(load: Load, until: float) -> None:
    """One after another, of all kinds; nothing may take longer than a minute."""
    while time.monotonic() < until:
        (kind,) = load.random.choices(list(KINDS), list(KINDS.values()))
        try:
            await asyncio.wait_for(kind(load), 60)
        except TimeoutError:
            load.wrong.append(f"{kind.__name__} waits still after a minute")
        except (httpx.TransportError, ConnectionError) as error:
            load.wrong.append(f"{kind.__name__} was cut off: {error!r}")


def held(process: int) -> tuple[float, int, int]:
    """Megabytes of memory, open files and threads of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    files = len(os.listdir(f"/proc/{process}/fd"))
    threads = len(os.listdir(f"/proc/{process}/task"))
    return pages * os.sysconf("SC_PAGESIZE") / 1e6, files, threads


async def drive(
    url: str, process: int, prompts: list[str], minutes: float
) -> tuple[list[str], bool]:
    """Ask, and see what is left when all was asked."""
    lines: list[str] = []
    limits = httpx.Limits(max_connections=200)
    async with httpx.AsyncClient(base_url=url, timeout=90, limits=limits) as client:
        load = Load(client, httpx.URL(url).port or 80, prompts)
        for prompt in prompts:
            answer = await client.post("/v1/completions", json=body(prompt))
            load.texts[prompt] = answer.json()["choices"][0]["text"]
        until = time.monotonic() + 60 * minutes
        workers = [asyncio.create_task(ask(load, until)) for _ in range(24)]
        began = time.monotonic()
        for minute in range(1, round(minutes) + 1):
            await asyncio.sleep(max(0, began + 60 * minute - time.monotonic()))
            memory, files, threads = held(process)
            lines.append(
                f"  minute {minute:2d}  {load.answers.total():7,} asked  {memory:6.0f} MB"
                f"  {files:4d} files  {threads} threads"
            )
        await asyncio.gather(*workers)
    await asyncio.sleep(25)  # longer than an idle connection is kept
    memory, files, threads = held(process)
    lines.append(f"  all ended  {memory:14.0f} MB  {files:4d} files  {threads} threads")
    async with httpx.AsyncClient(base_url=url) as client:
        ready = (await client.get("/ready")).status_code
        gauges = [
            line
            for line in (await client.get("/metrics")).text.splitlines()
            if re.match(r"tongues_\w*(running|queued|waiting|held|answering)\w*[ {]", line)
        ]
    lines += [f"  {line}" for line in gauges]
    lines += [f"  {kind:24} {count:8,}" for kind, count in sorted(load.answers.items())]
    lines += [f"  ready: {ready}", f"  wrong: {len(load.wrong)}", *sorted(set(load.wrong))[:20]]
    left = any(float(line.rpartition(" ")[2]) for line in gauges)
    return lines, not (load.wrong or left or ready != 200)


def main(minutes: float) -> None:
    """Serve, ask, and print."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        prompts = [*make(workspace, "0.4M")[:5], ""]
        (workspace / "eight").symlink_to(workspace / "ensembles/serve/eight")
        with serving(workspace, "eight") as (url, server):
            told, right = asyncio.run(drive(url, server.pid, prompts, minutes))
    lines = [f"{date.today()}, {minutes:g} minutes, 24 askers at once", *told]
    lines.append(
        f"  the server ended with {server.returncode}: {'all well' if right else 'NOT WELL'}"
    )
    print("\n".join(lines))
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(float(sys.argv[1]) if sys.argv[1:] else 10)
