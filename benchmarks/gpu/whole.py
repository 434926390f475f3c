"""Stages: whole commands: a run that is killed and resumed, and the use of a model."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request, urlopen

from common import Bench
from correctness import train_command

import tongues
from tongues.core.files import read_lines

PROMPTS = 16
LONGEST = {False: 128, True: 8}  # tokens of a text; in a rehearsal


def resume(bench: Bench) -> None:
    """A run killed after a checkpoint and resumed, against one that was left alone."""
    bench.tokens("tiny")
    recipe = bench.recipe("tiny")
    shape, steps, batch = ("0.1M", 60, 1024) if bench.rehearse else ("22M", 400, 16_384)
    words = [f"model.shape={shape}", f"train.batch={batch} tokens", "train.num_evals=2"]
    words += [f"train.budget={steps * batch} tokens", "train.checkpoint_every=0.5 seconds"]
    words += ["train.compile=off", "train.threads=1", f"train.micro_batch={batch} tokens"]
    for name in ("alone", "killed"):
        shutil.rmtree(bench.work / "runs" / name, ignore_errors=True)
    alone = train_command(bench, recipe, [*words, "train.run=alone"], {})
    killed = train_command(bench, recipe, [*words, "train.run=killed"], {})
    folder = bench.work / "runs/killed/checkpoints"
    while killed.poll() is None and not list(folder.glob("step-*")):
        time.sleep(0.05)
    if killed.poll() is not None:
        said = killed.communicate()[0].strip()
        raise RuntimeError(f"it ended before its first checkpoint: {said[-300:]}")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    step = max(int(place.name.split("-")[1].split(".")[0]) for place in folder.glob("step-*"))
    bench.say(f"killed with a checkpoint of step {step} of {steps}")
    start = time.monotonic()
    again = train_command(bench, recipe, [*words, "train.run=killed"], {})
    said = again.communicate()[0]
    bench.check(f"resumed to its end in {time.monotonic() - start:.1f} s", again.returncode == 0)
    alone.wait()
    if again.returncode or alone.returncode:
        raise RuntimeError((said or "").strip()[-300:])
    losses = [
        read_lines(bench.work / "runs" / name / "evals.jsonl")[-1]["loss"]
        for name in ("alone", "killed")
    ]
    off = abs(losses[1] - losses[0]) / losses[0]
    words = f"last loss {losses[1]:.6f}, uninterrupted {losses[0]:.6f}: off by {off:.1e}"
    bench.check(words, off == 0 if bench.device.type == "cpu" else off < 1e-2)


def use(bench: Bench) -> None:
    """Evaluation, generation and serving of SmolLM2."""
    model = str(bench.smollm2)
    with bench.attempt("evaluate"):
        shutil.rmtree(bench.work / "evaluations", ignore_errors=True)
        counted, start = bench.tokens().counts["qaa"]["valid"]["tokens"], time.monotonic()
        text = str(bench.work / "tokens/bench")
        result = tongues.evaluate(model, bench.work, text=text, page=False, quiet=True)
        taken = time.monotonic() - start
        bench.say(f"evaluate: {counted:,} tokens in {taken:.1f} s, {counted / taken:,.0f} tokens/s")
        del result
    prompts = [f"The {number} languages of the world" for number in range(PROMPTS)]
    longest = LONGEST[bench.rehearse]
    with bench.attempt("generate"):
        start = time.monotonic()
        made = tongues.generate(model, prompts, bench.work, max_tokens=longest)
        taken, count = time.monotonic() - start, sum(len(one.tokens) for one in made.texts)
        line = f"generate: {count:,} tokens of {PROMPTS} texts in {taken:.1f} s with loading"
        bench.say(f"{line}; {made.texts[0].text[:60]!r}")
    with bench.attempt("serve"):
        _serve(bench, model, prompts, longest)


def _serve(bench: Bench, model: str, prompts: list[str], longest: int) -> None:
    command = [
        sys.executable,
        "-m",
        "tongues",
        "serve",
        model,
        "-w",
        str(bench.work),
        "--port",
        "0",
    ]
    start = time.monotonic()
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    try:
        assert server.stdout
        address = re.search(r"http://\S+", server.stdout.readline())
        if address is None:
            raise RuntimeError("the server said no address")
        url = address[0].rstrip("/")
        name = _ask(f"{url}/v1/models")["data"][0]["id"]
        bench.say(f"serve: ready after {time.monotonic() - start:.1f} s")

        def complete(prompt: str) -> int:
            body = {"model": name, "prompt": prompt, "max_tokens": longest, "temperature": 0.8}
            return _ask(f"{url}/v1/completions", body)["usage"]["completion_tokens"]

        complete(prompts[0])
        for streams in (1, len(prompts)):
            start = time.monotonic()
            with ThreadPoolExecutor(streams) as pool:
                count = sum(pool.map(complete, prompts[:streams]))
            speed = count / (time.monotonic() - start)
            bench.say(f"serve: {streams} at once: {speed:,.0f} tokens/s")
    finally:
        server.terminate()
        server.wait(20)


def _ask(url: str, body: Mapping[str, object] | None = None) -> dict:
    data = json.dumps(body).encode() if body else None
    request = Request(url, data, {"Content-Type": "application/json"})
    for _ in range(600):
        try:
            with urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())
        except OSError as error:  # 503 until the model is open
            if getattr(error, "code", 503) != 503:
                raise
            time.sleep(0.1)
    raise RuntimeError(f"no answer from {url}")
