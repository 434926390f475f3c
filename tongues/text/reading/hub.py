"""Documents from a data set of the hub, or from a folder laid out like one, as a stream."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tongues.core.beside import read_beside
from tongues.core.errors import UserError, nearest
from tongues.core.extras import require
from tongues.core.hub import why_silent
from tongues.recipe import Columns, Hub
from tongues.text.reading.origin import Broken, Fault, Item, Origin, State

if TYPE_CHECKING:
    from datasets import IterableDataset


_SAID: dict[str, str] = read_beside(__file__, "hub.toml")


def read_hub(settings: Hub, lang: str, start: State | None = None) -> Iterator[Item]:
    """Stream the documents of a split, and a fault for each row that is not a document.

    start: the state of an item; reading resumes after that item. The rest of a damaged shard is
    skipped. A UserError is raised where the data set, subset, split or column does not exist, and
    where the connection breaks.
    """
    where, origin = f"text.hub.{lang}", Origin(hub_source(settings), lang, settings.columns)
    for row, state in hub_rows(settings, where, start):
        if isinstance(row, Fault):
            yield row, state
            continue
        number = state["row"]
        for part, column in settings.columns if number == 1 else ():
            # the text column must exist, and every column that the recipe names
            if column not in row and (part == "text" or column != getattr(Columns(), part)):
                what = f"`{settings.dataset}` has no column `{column}`"
                raise UserError(what, where=f"{where}.columns.{part}", hint=nearest(column, row))
        yield origin.row(row, number - 1, number), state


def hub_source(settings: Hub) -> str:
    """The name of a split: data set, subset and split."""
    return "/".join(filter(None, (settings.dataset, settings.subset, settings.split)))


def hub_rows(
    settings: Hub, where: str, start: State | None = None
) -> Iterator[tuple[dict[str, Any] | Fault, State]]:
    """Stream the rows of a split, and a fault for each damaged shard, with states.

    A state's `row` is the number of rows up to there. where: for errors.
    """
    stream = _open(settings, where)
    state: State = start or {"shard": 0, "row": 0}
    number = state["row"]
    for shard in range(state["shard"], stream.num_shards):
        part = stream.shard(stream.num_shards, shard)
        if shard == state["shard"] and "stream" in state:
            part.load_state_dict(state["stream"])
        try:
            for row in _rows(part, settings, where):
                number += 1
                yield row, {"shard": shard, "row": number, "stream": part.state_dict()}
        except Broken as error:
            after = {"shard": shard + 1, "row": number}
            yield Origin(hub_source(settings)).fault(number, error.reason, error.sample), after


def _open(settings: Hub, where: str) -> "IterableDataset":
    require("datasets", where)
    import datasets

    name = settings.dataset
    if not Path(name).is_dir():
        _check_reachable(settings, where)
    try:  # it names the subsets and splits there are
        return datasets.load_dataset(name, settings.subset, split=settings.split, streaming=True)
    except Exception as error:
        what = f"`{name}` cannot be opened ({_sentence(error)})"
        raise UserError(what, where=where, hint=_SAID["names"]) from None


def _check_reachable(settings: Hub, where: str) -> None:
    """A UserError at once where the hub does not answer: `datasets` would try for half a minute."""
    if not (silent := why_silent()):
        return  # whatever it answers, `datasets` says what is wrong
    name = settings.dataset
    what = f"`{name}` cannot be opened: the hub does not answer ({silent})"
    folder = f"data/{name.rpartition('/')[2]}"
    only = f" --include README.md --include '*{settings.subset}*'" if settings.subset else ""
    hint = _SAID["fetch"].format(name=name, only=only, folder=folder)
    raise UserError(what, where=f"{where}.dataset", hint=hint, code="offline")


def _rows(part: "IterableDataset", settings: Hub, where: str) -> Iterator[dict[str, Any]]:
    """The rows of a shard; Broken where it is damaged, a UserError where it is out of reach."""
    damage = (ValueError, EOFError, zlib.error)  # Arrow's errors are ValueErrors
    if Path(settings.dataset).is_dir():
        damage = (*damage, OSError)
    rows = iter(part)
    while True:
        try:
            row = next(rows, None)
        except damage as error:
            raise Broken("damaged", 0, _sentence(error)) from None
        except Exception as error:
            what = f"the stream of `{settings.dataset}` broke off ({_sentence(error)})"
            raise UserError(what, where=where, hint=_SAID["again"]) from None
        if row is None:
            return
        yield row


def _sentence(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return " ".join(lines[:2]) or type(error).__name__
