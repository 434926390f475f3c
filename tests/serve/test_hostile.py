"""Folders that somebody made to do harm, or by mistake: refused, and others are served."""

import json
import os
import resource
import shutil
import signal
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.serve.serving import RULES, serving
from tests.serve.test_requests import until
from tongues.core.errors import UserError
from tongues.core.foreign.process import TextProcess
from tongues.core.hardware import this_machine
from tongues.experts.ensemble.model import Model, open_model
from tongues.use.serve.opening import open_served, probe_step

LOOP = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}x"
LARGE = "{{ 'a' * 4000000000 }}"
SAID = [{"role": "user", "content": "a"}]


def tokenizer_of(folder: Path, regex: str) -> None:
    """Split text by this regular expression first."""
    file = folder / "tokenizer.json"
    plain = json.loads(file.read_text())
    split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    steps = [split, plain["pre_tokenizer"]]
    plain["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    file.write_text(json.dumps(plain))


def config_of(folder: Path, **changed: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changed))


def lose(folder: Path, kind: str, value: float) -> None:
    file = folder / "model.safetensors"
    weights = load_file(file)
    name = next(name for name in weights if kind in name)
    weights[name].view(-1)[-1] = value
    save_file(weights, file, {"format": "pt"})


def narrow(folder: Path, rows: int) -> None:
    """A vocabulary smaller than the tokenizer's, everywhere alike."""
    file = folder / "model.safetensors"
    weights = load_file(file)
    whole = json.loads((folder / "config.json").read_text())["vocab_size"]
    cut = {n: w[:rows].clone() if w.shape[0] == whole else w for n, w in weights.items()}
    save_file(cut, file, {"format": "pt"})
    config_of(folder, vocab_size=rows)


def enlarge(folder: Path) -> None:
    """Weights in bfloat16, of twice this machine's memory: their file has a head and a hole."""
    rows, size = int(this_machine().memory) // 2**7, 0
    head: dict[str, object] = {}
    for name, weight in load_file(folder / "model.safetensors").items():
        shape = [rows, 64] if "embed_in" in name else list(weight.shape)
        end = size + 2 * prod(shape)
        head[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [size, end]}
        size = end
    written = json.dumps(head).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(written).to_bytes(8, "little") + written)
        file.truncate(8 + len(written) + size)


def empty_vocabulary(folder: Path) -> None:
    file = folder / "tokenizer.json"
    plain = json.loads(file.read_text())
    plain["model"] |= {"vocab": {}, "merges": []}
    plain["added_tokens"] = []
    plain["post_processor"] = None
    file.write_text(json.dumps(plain))


FAULTY: dict[str, tuple[Callable[[Path], object], str]] = {
    "nan": (lambda folder: lose(folder, "embed_in", torch.nan), "holds NaN"),
    "infinite": (lambda folder: lose(folder, "mlp", torch.inf), "holds NaN or infinite"),
    "vocabulary": (lambda folder: config_of(folder, vocab_size=100), "embed|predicts 100"),
    "narrow": (lambda folder: narrow(folder, 100), "cannot predict|predicts 100 tokens"),
    "wide": (lambda folder: config_of(folder, intermediate_size=10**9), "cannot predict|mlp"),
    "layers": (lambda folder: config_of(folder, num_hidden_layers=10**9), "1,000,000,000`"),
    "experts": (lambda folder: config_of(folder, num_local_experts=10**6), "1,000,000`"),
    "heads": (lambda folder: config_of(folder, num_attention_heads=7), "."),
    "context": (lambda folder: config_of(folder, max_position_embeddings=-3), "sees -3 tokens"),
    "nested": (lambda folder: config_of(folder, text_config=5), "holds no keys"),
    "activation": (lambda folder: config_of(folder, hidden_act="os.system"), "os.system"),
    "kernels": (lambda folder: config_of(folder, attn_implementation="a/b"), "code of the hub"),
    "zeros": (
        lambda folder: os.truncate(folder / "config.json", 10**9),
        "is not what its name says",
    ),
    "too large": (lambda folder: enlarge(folder), "of memory in float32"),
}
HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "loop": (lambda folder: (folder / "chat_template.jinja").write_text(LOOP), "longer than 0.3"),
    "large": (lambda folder: (folder / "chat_template.jinja").write_text(LARGE), "MemoryError"),
    "regex": (lambda folder: tokenizer_of(folder, "(a+)+$"), "rules for text fail|longer"),
    "broken": (lambda folder: (folder / "tokenizer.json").write_text("{"), "rules for text fail"),
    "zeros": (lambda folder: os.truncate(folder / "tokenizer.json", 2**33), "rules for text fail"),
    "empty": (lambda folder: empty_vocabulary(folder), "no tokens for text"),
}


@pytest.fixture
def copied(served: Mapping[str, Model], hub: str, tmp_path: Path) -> Path:
    shutil.copytree(hub, tmp_path / "bad")
    return tmp_path / "bad"


@pytest.mark.parametrize("name", FAULTY)
def test_a_model_that_cannot_predict_is_refused(copied: Path, name: str) -> None:
    harm, message = FAULTY[name]
    harm(copied)
    with pytest.raises(UserError, match=message):
        probe_step(open_model(str(copied), copied.parent))


@pytest.mark.parametrize("name", HOSTILE)
def test_rules_for_text_that_loop_or_fail_are_refused(copied: Path, name: str) -> None:
    harm, message = HOSTILE[name]
    harm(copied)
    rules = TextProcess(copied, seconds=0.3)
    with pytest.raises(UserError, match=message):
        rules.probe()
    rules.close()


def test_the_others_are_served(copied: Path, hub: str) -> None:
    lose(copied, "embed_in", torch.nan)
    lines: list[str] = []
    opened, rules = open_served([str(copied), hub], copied.parent, say=lines.append)
    assert list(opened) == [hub]
    assert list(rules) == [Path(hub).resolve()]
    line, *_ = lines
    assert line.startswith(f"caution: `{copied}` is not served: ") and "NaN" in line
    for each in rules.values():
        each.close()


def test_no_memory_is_taken_for_weights_that_are_not_there(copied: Path) -> None:
    harm, _ = FAULTY["vocabulary"]
    harm(copied)
    config_of(copied, vocab_size=10**7)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError, match="10000000 x"):
        probe_step(open_model(str(copied), copied.parent))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB


def test_a_template_that_loops_on_some_messages_holds_up_no_other_model(
    served: Mapping[str, Model], hub: str, copied: Path
) -> None:
    template = (
        "{% if messages[0].content == 'loop' %}" + LOOP + "{% endif %}{{ messages[0].content }}"
    )
    (copied / "chat_template.jinja").write_text(template)
    ensemble = replace(served[hub].ensemble, tokenizer=copied)
    models = {hub: served[hub], "bad": replace(served[hub], name="bad", ensemble=ensemble)}
    RULES[copied.resolve()] = TextProcess(copied, seconds=0.6)
    with serving(models) as server, ThreadPoolExecutor(3) as pool:

        def ask(model: str, content: str) -> Any:
            messages = [{"role": "user", "content": content}]
            body = {"model": model, "messages": messages, "max_tokens": 1}
            return server.http.post("/v1/chat/completions", json=body)

        assert ask("bad", "a").status_code == ask(hub, "a").status_code == 200
        stuck = [pool.submit(ask, "bad", "loop") for _ in range(2)]
        assert all(ask(hub, "a").status_code == 200 for _ in range(3))
        assert not all(one.done() for one in stuck)
        for one in stuck:
            problem = one.result().json()["error"]
            assert one.result().status_code == 400
            assert problem["code"] == "text_failed"
            assert "longer than 0.6 seconds" in problem["message"]
        assert ask("bad", "a").status_code == 200  # by a new process


def test_a_process_that_ended_between_texts_is_not_blamed_on_the_next_one(copied: Path) -> None:
    rules = TextProcess(copied)
    ids = rules.encode("the ban").tolist()
    lists = Path("/proc/self/task").glob("*/children")
    children = [Path("/proc", number) for file in lists for number in file.read_text().split()]
    folder = str(copied.resolve()).encode()
    (own,) = (place for place in children if folder in (place / "cmdline").read_bytes())
    os.kill(int(own.name), signal.SIGKILL)
    until(lambda: ") Z " in (own / "stat").read_text())
    assert rules.encode("the ban").tolist() == ids
    rules.close()


def test_a_panic_of_the_tokenizer_is_a_refusal(copied: Path) -> None:
    tokenizer_of(copied, "(a+)+$")
    rules = TextProcess(copied)
    assert len(rules.encode("the ban"))
    for _ in range(2):
        with pytest.raises(UserError, match=r"PanicException|longer"):
            rules.encode("a" * 40 + "b")
        assert len(rules.encode("the ban"))
    rules.close()
