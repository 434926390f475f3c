"""A run's directory before and after an interruption."""

import json
import re
import shutil
from pathlib import Path
from typing import Any, Literal

from tongues.errors import UserError, nearest
from tongues.files import read_lines, remove_directory, write_text
from tongues.runs import Record, read_record, write_record
from tongues.states import state_of

__all__ = ["find_parent", "model_folder", "open_directory", "roll_back"]

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+$")


def find_parent(parent: str | None, workspace: Path) -> Path | None:
    """The directory of the run or Hugging Face folder a run starts from."""
    if parent is None:
        return None
    store = workspace / "runs"
    if (store / parent / "run.json").is_file():
        if read_record(store / parent)["status"] != "finished":
            what = f"`{parent}` is {state_of(store / parent).state}, not finished"
            raise UserError(what, where="train.init_from", hint="train it to its end first")
        return store / parent
    if (Path(parent) / "config.json").is_file():
        return Path(parent)
    what = f"`{parent}` is neither a run in {store} nor a Hugging Face folder"
    raise UserError(what, where="train.init_from", hint=_how_to_get(parent, store))


def _how_to_get(base: str, store: Path) -> str:
    """What to do about a base that is not there: by what its name looks like."""
    names = [str(path.parent.relative_to(store)) for path in store.rglob("run.json")]
    near = nearest(base, names) if names else ""
    if "did you mean" in near:
        return near
    if base.startswith(("/", ".", "~")) or Path(base).exists():
        return "a Hugging Face folder holds config.json, the weights and the tokenizer"
    if _HUB_ID.match(base) and not (store / base).parent.is_dir():
        folder = f"bases/{base.rpartition('/')[2]}"
        return f"download it by `hf download {base} --local-dir {folder}`, and name `{folder}`"
    made = f"make it by `tongues train` of a recipe with `train.run: {base}`"
    return f"{made}, or name a Hugging Face folder" + (f"; {near}" if near else "")


def model_folder(parent: Path) -> Path:
    """The Hugging Face folder of a run, or the folder itself."""
    return parent / "model" if (parent / "run.json").is_file() else parent


def open_directory(
    directory: Path, record: Record, rebuild: bool
) -> Literal["new", "unfinished", "finished"]:
    """Make a run's directory, or find it as it was left; `rebuild` replaces one made otherwise."""
    others = [path.parent.name for path in directory.glob("*/run.json")]
    if others:
        what = f"is a study's folder, with {len(others)} runs such as `{others[0]}`"
        hint = "name this run otherwise (`train.run`)"
        raise UserError(what, where=str(directory), hint=hint)
    there = read_record(directory) if (directory / "run.json").is_file() else None
    if there and there["fingerprint"] != record["fingerprint"]:
        if not rebuild:
            raise UserError(
                f"a run of this name was made otherwise: {_differences(there, record)}",
                where=str(directory),
                hint="name this run otherwise (`train.run`), or replace that one with --rebuild",
            )
        remove_directory(directory)
        there = None
    if there is None:
        shutil.rmtree(directory / "checkpoints", ignore_errors=True)
        directory.mkdir(parents=True, exist_ok=True)
    if there and there["status"] == "finished":
        return "finished"
    if there:
        record = {**record, "surgery": there["surgery"], "engine": there["engine"]}
    write_record(directory, record)
    return "unfinished" if there else "new"


def roll_back(directory: Path, step: int) -> None:
    """Drop what was written after `step`: it will be written again, the same."""
    for name in ("metrics.jsonl", "evals.jsonl", "events.jsonl", "timing.jsonl"):
        path = directory / name
        kept = [
            json.dumps(row, ensure_ascii=False) for row in read_lines(path) if row["step"] <= step
        ]
        if path.exists():
            write_text(path, "".join(f"{line}\n" for line in kept))


def _differences(there: Record, here: Record) -> str:
    """The settings that differ, as `key: there, now here`."""
    old: dict[str, Any] = {**there["settings"], "tokens": there["tokens_fingerprint"]}
    new: dict[str, Any] = {**here["settings"], "tokens": here["tokens_fingerprint"]}
    old["parent's fingerprint"] = there["parent_fingerprint"]
    new["parent's fingerprint"] = here["parent_fingerprint"]
    differing = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return "; ".join(f"{key} was {old.get(key)}, now {new.get(key)}" for key in differing)
