"""Generated recipes, configurations and logs of other trainers, made to do harm.

usage: python benchmarks/hostile.py [COUNT]

Each file is a good one that was changed: a value for one of another kind, far too deep, long or
large, keys lost, text cut or stirred, aliases of aliases. A reader may take it or refuse it by a
UserError; anything else is counted as a traceback. What was found is kept in `faults.txt`.
"""

import json
import random
import resource
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tongues.core.errors import UserError

ROOT = Path(__file__).resolve().parents[1]
BATCH = 400  # files that one process reads, of whose memory the largest counts
SLOW = 5.0  # seconds of a file
RECIPES = [
    *sorted((ROOT / "docs/examples").glob("*.yaml")),
    ROOT / "tests/inputs/small-recipe.yaml",
]
CONFIGS = ("config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json")
MODEL = ROOT / "tongues/use/serve/example/ensembles/example/qaa"
ROWS = [{"step": n, "loss": 5 - n / 9, "learning_rate": 1e-3, "grad_norm": 1.0} for n in range(9)]
STATE = {"global_step": 9, "max_steps": 9, "log_history": [*ROWS, {"step": 9, "eval_sw_loss": 4.0}]}
TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
# One value in the place of another; beside the table's, what TOML cannot say.
VALUES: list[Any] = [*TABLE["values"], None, 10**400, "a" * 100_000, "\ud800", [None], ["x"] * 1000]
PIECES: list[str] = TABLE["pieces"]


def changed(value: Any, chance: random.Random) -> Any:
    """A copy with one thing in it exchanged, lost or wrapped."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice([*value])
        rest = {k: v for k, v in value.items() if k != key}
        if chance.random() < 0.1:
            return rest
        name = chance.choice((str(key) + "x", "", "\x1b[2J")) if chance.random() < 0.1 else key
        return rest | {name: changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        place = chance.randrange(len(value))
        return [*value[:place], changed(value[place], chance), *value[place + 1 :]]
    if chance.random() < 0.05:
        for _ in range(chance.choice((5, 50, 250))):
            value = [value] if chance.random() < 0.5 else {"a": value}
        return value
    return chance.choice(VALUES)


def stirred(text: str, chance: random.Random) -> str:
    """A text with pieces put in, cut out or said twice."""
    for _ in range(chance.randint(1, 4)):
        first, last = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        last = min(last, first + 40)
        piece = chance.choice((chance.choice(PIECES), "", text[first:last] * 2))
        text = text[:first] + piece + text[last:]
    return text


def bomb(chance: random.Random) -> str:
    """Aliases of aliases, or nesting, of some size."""
    levels, width = chance.randint(2, 12), chance.randint(2, 12)
    lines = [f"a0: &a0 [{', '.join('x' * width)}]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    deep = chance.choice((50, 1000, 20_000))
    return chance.choice(("\n".join(lines), "train: " + "[" * deep, "a: " + "{a: " * deep))


def written(value: Any, chance: random.Random) -> str:
    """JSON that is changed as a value, then now and then as text."""
    for _ in range(chance.randint(1, 3)):
        value = changed(value, chance)
    text = json.dumps(value)
    return stirred(text, chance) if chance.random() < 0.2 else text


def recipe(folder: Path, chance: random.Random) -> None:
    """Read a recipe."""
    from ruamel.yaml import YAML

    from tongues.experts.ensemble.places import find_model
    from tongues.recipe import load_recipe, load_text_recipe

    good = chance.choice(RECIPES).read_text(encoding="utf-8")
    kind = chance.random()
    text = bomb(chance) if kind < 0.05 else stirred(good, chance)
    if kind > 0.4:
        text = written(json.loads(json.dumps(YAML(typ="safe").load(good))), chance)
    file = folder / "recipe.yaml"
    file.write_text(text, encoding="utf-8", errors="backslashreplace")
    chance.choice((load_recipe, load_text_recipe, lambda _: find_model("nope", folder, hub=False)))(
        file
    )


def config(folder: Path, chance: random.Random) -> None:
    """Look at a model's folder, as every verb does, and at its configuration."""
    from tongues.core.foreign.folder import check_foreign
    from tongues.models.huggingface import configure
    from tongues.text.tokens.frame import read_settings

    for name in CONFIGS:
        good = (MODEL / name).read_text(encoding="utf-8")
        (folder / name).write_text(good, encoding="utf-8")
    file = folder / chance.choice(CONFIGS[:1] * 3 + CONFIGS[1:3])
    file.write_text(written(json.loads(file.read_text()), chance), errors="backslashreplace")
    check_foreign(folder)
    configure(folder)
    read_settings(folder / "tokenizer_config.json")


def log(folder: Path, chance: random.Random) -> None:
    """Read the log of another trainer."""
    from tongues.use.imports.log import read_log

    kind = chance.random()
    if kind < 0.5:
        (folder / "trainer_state.json").write_text(written(STATE, chance))
    elif kind < 0.9:
        lines = [written(row, chance) if chance.random() < 0.5 else json.dumps(row) for row in ROWS]
        (folder / "training.jsonl").write_text("\n".join(lines))
        place = folder / "epoch_0_step_8"
        place.mkdir()
        (place / "config.yaml").write_text(
            bomb(chance) if kind < 0.6 else stirred("a: {b: 1}", chance)
        )
    else:
        data = chance.randbytes(chance.choice((0, 7, 100, 40_000)))
        head = b":W&B\xbe\xe1\x00" if chance.random() < 0.8 else b""
        (folder / "run-1.wandb").write_bytes(head + data)
    read_log(folder)


KINDS: dict[str, Callable[[Path, random.Random], None]] = {
    "recipe": recipe,
    "config": config,
    "log": log,
}


def attempt(kind: str, seed: int) -> tuple[str, float]:
    """What became of one file, and its seconds of processor time: others compute here too."""
    with TemporaryDirectory() as folder:
        begun = time.process_time()
        try:
            KINDS[kind](Path(folder), random.Random(seed))
            end = "read"
        except UserError:
            end = "refused"
        except BaseException as error:
            end = f"TRACEBACK {kind} {seed}: {error!r:.200}"
        return end, time.process_time() - begun


def batch(given: tuple[str, int]) -> tuple[Counter[str], float, int]:
    """Many files in one process: their ends, the longest time and the most memory."""
    kind, first = given
    attempt(kind, -1)  # what is imported is no file's fault
    found = [attempt(kind, seed) for seed in range(first, first + BATCH)]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Counter(end for end, _ in found), max(seconds for _, seconds in found), memory


def files(count: int) -> Iterator[str]:
    """All files, a third of each kind."""
    work = [(kind, n) for kind in KINDS for n in range(0, -(-count // len(KINDS)), BATCH)]
    with get_context("spawn").Pool(2, maxtasksperchild=1) as pool:
        for kind in KINDS:
            own = list[tuple[Counter[str], float, int]]()
            for each in pool.imap_unordered(batch, [each for each in work if each[0] == kind]):
                own.append(each)
                print(kind, each, flush=True)
            ends = sum((found for found, _, _ in own), Counter[str]())
            slowest, most = max(each[1] for each in own), max(each[2] for each in own)
            wrong = {end: n for end, n in ends.items() if end.startswith("TRACEBACK")}
            yield (
                f"  {kind:8} {sum(ends.values()):6,} files: {ends['read']:,} read, "
                f"{ends['refused']:,} refused, {sum(wrong.values())} tracebacks; "
                f"slowest {slowest:.2f} s, at most {most / 1e6:,.0f} MB in a process"
            )
            yield from sorted(f"    {end}" for end in wrong)[:20]


def main() -> None:
    """Read them all; the outcome replaces its part of `faults.txt`."""
    from faults import keep

    keep("files", [*files(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)])


if __name__ == "__main__":
    main()
