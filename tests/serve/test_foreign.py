"""Folders that somebody made to do harm, or by mistake, and every verb that opens one."""

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import pytest
import torch

import tongues
from tests.serve.test_hostile import FAULTY, HOSTILE, config_of, lose, tokenizer_of
from tongues.core.errors import UserError
from tongues.experts.ensemble.model import Model
from tongues.use.export.add_chat import add_chat
from tongues.use.serve.opening import open_served

SECONDS = 10.0
LONG = "a" * 60 + "!"
DEEP = "[" * 100_000


def write(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


def replaced(name: str, by: Callable[[Path], object]) -> Callable[[Path], object]:
    """Something else in the place of a file."""

    def replace(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        by(folder / name)

    return replace


def normalizer(folder: Path) -> None:
    """Every `a` becomes a thousand millions."""
    file = folder / "tokenizer.json"
    plain = json.loads(file.read_text())
    more = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 1000}
    plain["normalizer"] = {"type": "Sequence", "normalizers": [more] * 3}
    file.write_text(json.dumps(plain))


def decoder(folder: Path) -> None:
    """A token is written as a text that grows with it."""
    file = folder / "tokenizer.json"
    plain = json.loads(file.read_text())
    more = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10_000}
    plain["decoder"] = {"type": "Sequence", "decoders": [plain["decoder"], *[more] * 3]}
    file.write_text(json.dumps(plain))


def spelt(folder: Path) -> None:
    """A regular expression under a name that JSON spells another way."""
    tokenizer_of(folder, "(a+)+$")
    file = folder / "tokenizer.json"
    file.write_text(file.read_text().replace('"Regex"', '"\\u0052egex"'))


def zeros(file: Path) -> None:
    file.symlink_to("/dev/zero")


def itself(file: Path) -> None:
    file.symlink_to(file.name)


def pickled(folder: Path) -> None:
    """Weights that run code where they are unpickled."""
    (folder / "model.safetensors").unlink()
    torch.save({"x": torch.zeros(1)}, folder / "pytorch_model.bin")


KINDS: dict[str, Callable[[Path], object]] = {
    "nothing": lambda folder: None,  # or the test would find every folder refused
    **{f"weights {name}": harm for name, (harm, _) in FAULTY.items()},
    **{f"text {name}": harm for name, (harm, _) in HOSTILE.items()},
    "expression": lambda folder: tokenizer_of(folder, "(?:(?:a+)+)+$|(?:(?:a|aa)+)+b"),
    "expression under another spelling": spelt,
    "normalizer": normalizer,
    "decoder": decoder,
    "tokenizer of zeros": replaced("tokenizer.json", zeros),
    "tokenizer a pipe": replaced("tokenizer.json", os.mkfifo),
    "tokenizer its own link": replaced("tokenizer.json", itself),
    "tokenizer a folder": replaced("tokenizer.json", os.mkdir),
    "settings of zeros": replaced("tokenizer_config.json", zeros),
    "settings a pipe": replaced("generation_config.json", os.mkfifo),
    "settings deep": write("tokenizer_config.json", DEEP),
    "config of zeros": replaced("config.json", zeros),
    "config deep": write("config.json", DEEP),
    "config a list": write("config.json", "[]"),
    "config empty": write("config.json", ""),
    "code": lambda folder: config_of(folder, auto_map={"AutoModelForCausalLM": "x.Y"}),
    "quantized": lambda folder: config_of(folder, quantization_config={"quant_method": "x"}),
    "no heads": lambda folder: config_of(folder, num_attention_heads=0),
    "pickle": pickled,
    "weights of zeros": replaced("model.safetensors", zeros),
    "weights cut": lambda folder: os.truncate(folder / "model.safetensors", 100),
    "weights head": lambda folder: (folder / "model.safetensors").write_bytes(b"\xff" * 64),
    "card a pipe": replaced("README.md", os.mkfifo),
    "card deep": write("README.md", f"---\nlicense: {DEEP}\n---\n"),
}


@pytest.fixture
def copied(served: Mapping[str, Model], hub: str, tmp_path: Path) -> Path:
    shutil.copytree(hub, tmp_path / "bad")
    lose(tmp_path / "bad", "mlp", 0.5)  # the chat model of a base has other weights
    (tmp_path / "qaa.txt").write_text(f"a ban\n\n{LONG}\n\nthe end")
    (tmp_path / "text").mkdir()
    for number in range(40):
        words = Random(number).choices(["ab", "ban", "cad", "dub", "end", "fac"], k=30)
        (tmp_path / "text" / f"{number}.txt").write_text(" ".join([LONG, *words]))
    return tmp_path / "bad"


def generate(folder: Path) -> None:
    tongues.generate(str(folder), [LONG], folder.parent, max_tokens=1)


def evaluate(folder: Path) -> None:
    place = folder.parent
    tongues.evaluate(str(folder), place, text=place / "qaa.txt", page=False, quiet=True)


def serve(folder: Path) -> None:
    _, rules = open_served([str(folder)], folder.parent, say=lambda line: None)
    for each in rules.values():
        each.close()


def chat(folder: Path) -> None:
    """Of `export --add-chat`: the folder is the tuned one."""
    trained = folder.parent / "trained"
    shutil.copytree(folder.parent / "hub", trained)
    add_chat(trained, folder, folder.parent / "hub", 1.0, {}, lambda line: None)


def handed(folder: Path) -> None:
    """Of a recipe that continues from it: checked, prepared, and exported for a trainer."""
    place, recipe = folder.parent, folder.parent / "one.yaml"
    named = {"model": str(folder), "languages": ["en"]}
    train = {"base": named, "mixture": {"qaa": "100%"}, "budget": "1000 tokens"}
    train |= {"context": "16 tokens"}
    text = {"files": {"qaa": [str(place / "text")]}}
    tokens = {"base": str(folder), "byte_fallback": "allow", "held_out": "200 tokens"}
    recipe.write_text(json.dumps({"name": "one", "text": text, "tokens": tokens, "train": train}))
    tongues.check(str(recipe), workspace=place)
    tongues.prepare(str(recipe), workspace=place, quiet=True)
    tongues.export(str(recipe), engine="trainer", out=place / "out", workspace=place, quiet=True)


@pytest.mark.parametrize("verb", [generate, evaluate, serve, chat, handed])
@pytest.mark.parametrize("kind", KINDS)
def test_a_harmful_folder_is_refused_in_time(
    copied: Path, hub: str, kind: str, verb: Callable[[Path], None]
) -> None:
    """Or used, where the verb does not use what is wrong with it; never a traceback, never long."""
    (copied.parent / "hub").symlink_to(hub)
    KINDS[kind](copied)
    begun = time.monotonic()
    try:
        verb(copied)
    except UserError as error:
        assert kind != "nothing" and (error.where or error.hint)
    assert time.monotonic() - begun < SECONDS
