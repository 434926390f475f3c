"""Tasks of EleutherAI's lm-evaluation-harness: its items, prompts and metrics, our statistics.

`lm-eval:NAME` is a task, group or tag of the harness, or a task's YAML file. Its own scores are
reproduced; in addition each item has a value for each metric, whose mean is the score, so that
models are paired item by item. Where a metric is not the mean of its items (chrF, BLEU, F1,
perplexity) the value is the jackknife's: the score, and how much the item's block of items changes
it. The mean of such values has the variance that a paired bootstrap of the blocks has.
"""

import importlib
import logging
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib.metadata import version
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from langcodes import tag_is_valid

from tongues.core.beside import read_beside
from tongues.core.errors import UserError, nearest
from tongues.core.extras import require
from tongues.core.files import file_hash, fingerprint
from tongues.core.hub import why_silent
from tongues.evaluate.words import WORDS
from tongues.languages.catalogue import catalogue_tag

if TYPE_CHECKING:  # with torch
    from tongues.experts.ensemble.model import Model


HARNESS = "lm-eval:"
_SEED = 1234  # lm-eval's, of demonstrations
_BLOCKS = 50  # chosen; of the jackknife: their t has 2 % wider intervals than infinitely many
_FIELDS = read_beside(__file__, "harness.toml")


@dataclass(frozen=True, slots=True)
class HarnessTask:
    """A task of lm-eval in a language, which is `und` where its name has none."""

    source: str  # a registered name, or a YAML file
    name: str  # of the task itself
    language: str
    content: str  # a fingerprint of its documents, prompts and code
    num_fewshot: int | None  # None: the task's own
    limit: int | None

    def fingerprint(self) -> str:
        """Changes with anything that a model's scores depend on."""
        about = [self.name, self.content, self.num_fewshot, self.limit]
        return fingerprint([version("lm_eval"), "keys, first token scored", *about])


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of a task, whose values have its score as their mean."""

    name: str
    higher_is_better: bool
    share: bool  # whether it is a mean of values between 0 and 1
    values: tuple[float | None, ...]  # of each item; None: the metric leaves it out
    blocks: tuple[int, ...]  # of the jackknife; empty where each item has its own value


@dataclass(frozen=True, slots=True)
class HarnessScores:
    """A model's values on a task of lm-eval; the unit that is kept."""

    ids: tuple[str, ...]
    groups: tuple[str, ...]
    choices: tuple[int, ...]  # of each item, 0 where there are none
    labels: tuple[int, ...]  # the right choice, -1 where it is not known
    metrics: tuple[Metric, ...]
    shots: int
    example: str
    keys: tuple[str, ...] = ()  # as ids, but those of its translations too where there are any


def harness_tasks(
    words: str,
    languages: Sequence[str] | None = None,
    *,
    num_fewshot: int | None = None,
    limit: int | None = None,
) -> dict[str, dict[str, HarnessTask]]:
    """The tasks of `lm-eval:NAME` or `lm-eval:NAME:sw,tr`, by name and language.

    Tasks of a group whose names differ by a language are one task in these languages, by the
    catalogue's tags.
    """
    source, _, own = words.removeprefix(HARNESS).partition(":")
    chosen = [tag.strip() for tag in own.split(",")] if own else languages
    wanted = {catalogue_tag(tag) for tag in chosen or ()}
    by_name: dict[str, dict[str, HarnessTask]] = {}
    loaded = _load(source)
    for task, of in loaded.items():
        name, language = name_and_language(task)
        if chosen and language not in wanted:
            continue
        if language in by_name.get(f"{HARNESS}{name}", {}):  # two codes of one language
            name = task
        content = _content(of, limit, num_fewshot)
        by_name.setdefault(f"{HARNESS}{name}", {})[language] = HarnessTask(
            source, task, language, content, num_fewshot, limit
        )
    if not by_name:
        there = ", ".join(sorted({name_and_language(task)[1] for task in loaded}))
        raise UserError("has none of these languages", where=words, hint=f"there are {there}")
    return by_name


def name_and_language(task: str) -> tuple[str, str]:
    """A task's name without its language, as of `xcopa_sw` or `belebele_swh_Latn`, and its tag."""
    for pattern in _FIELDS["names"]:
        match = re.fullmatch(pattern, task)
        code = match and _FIELDS["codes"].get(match["code"], match["code"])
        if match and code and tag_is_valid(code):
            return match["name"] + (match.groupdict().get("rest") or ""), catalogue_tag(code)
    return task, "und"


def _content(task: Any, limit: int | None, num_fewshot: int | None) -> str:
    """A fingerprint of what a task reads, how it asks, and the modules of its functions."""
    own = task.get_config("num_fewshot")
    shown = own != 0 and (own if num_fewshot is None else num_fewshot)
    docs = [*islice(task.eval_docs, limit), *(task.fewshot_docs() if shown else ())]
    settings = {**vars(task.config), "dataset_kwargs": None}  # places of what is hashed itself
    code = next(filter(callable, vars(type(task)).values()), None)
    return fingerprint([_plain(settings), _plain(code), _plain(docs)])


def _plain(of: Any) -> Any:
    if callable(of):
        code = getattr(of, "__code__", None)
        return file_hash(Path(code.co_filename)) if code else type(of).__name__
    if isinstance(of, Mapping):
        return {str(key): _plain(value) for key, value in of.items()}
    if isinstance(of, list | tuple):
        return [_plain(value) for value in of]
    return _plain(vars(of)) if is_dataclass(of) else str(of)


def score_harness(model: "Model", task: HarnessTask) -> HarnessScores:
    """Run a task by lm-eval with a model of ours; its prompts are cut as lm-eval cuts them."""
    from tongues.evaluate.lm_eval import LmEvalModel

    loaded = _load(task.source)[task.name]
    if task.num_fewshot is not None and loaded.get_config("num_fewshot") != 0:
        loaded.set_config(key="num_fewshot", value=task.num_fewshot)
    elif loaded.get_config("num_fewshot") is None:
        loaded.set_config(key="num_fewshot", value=0)
    loaded.set_fewshot_seed(seed=_SEED)
    functions = {name: _or_nan(of) for name, of in loaded.aggregation().items()}
    loaded.aggregation = lambda: functions
    try:
        results = _package("evaluator").evaluate(
            lm=LmEvalModel(model),
            task_dict={"tasks": {task.name: loaded}, "groups": {}, "group_map": {}},
            limit=task.limit,
            bootstrap_iters=0,
        )
    except UserError:
        raise
    except Exception as error:  # of a task's own code
        what = f"lm-eval ended: {type(error).__name__}: {error}"
        hint = "what was scored before is kept; leave this task out"
        raise UserError(what, where=f"{HARNESS}{task.name}", hint=hint) from error
    return _scores(loaded, results, task.name)


def _or_nan(aggregate: Callable[[list[Any]], float]) -> Callable[[list[Any]], float]:
    """NaN where a number is too large: text without spaces is one word, of a huge perplexity."""

    def aggregated(items: list[Any]) -> float:
        try:
            return aggregate(items)
        except ArithmeticError:
            return math.nan

    return aggregated


def _scores(task: Any, results: Mapping[str, Any], name: str) -> HarnessScores:
    samples = results["samples"][name]
    by_filter: dict[str, list[Any]] = {}
    for sample in samples:
        by_filter.setdefault(sample["filter"], []).append(sample)
    metrics: list[Metric] = []
    for filter_name, each in by_filter.items():
        for metric, aggregate in task.aggregation().items():
            if not all(metric in sample for sample in each):
                continue
            raw = [sample[metric] for sample in each]
            values, blocks = item_values(raw, aggregate)
            between = not blocks and min(values) >= 0 and max(values) <= 1
            if not np.isfinite(values).all() and _finite(raw):
                values, blocks = (None,) * len(raw), ()
            better = task.higher_is_better().get(metric, True) is not False
            shown = metric if filter_name == "none" else f"{metric} {filter_name}"
            metrics.append(Metric(shown, better, between, values, blocks))
    first = next(iter(by_filter.values()))
    choice = task.OUTPUT_TYPE == "multiple_choice"
    requests = 2 if "acc_mutual_info" in task.aggregation() else 1  # choices without context too
    context, *rest = first[0]["arguments"][0]
    return HarnessScores(
        ids=tuple(f"{name} {sample['doc_id']}" for sample in first),
        groups=tuple(_group(sample) for sample in first),
        choices=tuple(len(sample["arguments"]) // requests if choice else 0 for sample in first),
        labels=tuple(_label(task, sample) if choice else -1 for sample in first),
        metrics=tuple(metrics),
        shots=int(results["n-shot"][name]),
        example=context + "".join(of for of in rest if isinstance(of, str)),
        keys=item_keys(first, rows=choice),
    )


def _finite(raw: Sequence[Any]) -> bool:
    """Whether the model gave numbers; those of broken weights are NaN."""
    parts = (part for of in raw for part in (of if isinstance(of, tuple) else (of,)))
    return all(math.isfinite(part) for part in parts if isinstance(part, Real))


def item_values(
    raw: Sequence[Any], aggregate: Callable[[list[Any]], float]
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Values of items whose mean is their aggregate, and the blocks of a jackknife."""
    score = float(aggregate(list(raw)))
    if all(isinstance(of, Real) for of in raw):
        values = np.array(raw, dtype=float)
        if abs(values.mean() - score) < 1e-9 * max(1.0, abs(score)):
            return tuple(values.tolist()), ()
    count = len(raw)
    blocks = np.arange(count) * min(count, _BLOCKS) // count
    values = np.empty(count)
    for block in range(int(blocks.max()) + 1):
        inside = blocks == block
        rest = [of for of, left_out in zip(raw, inside, strict=True) if not left_out]
        size = int(inside.sum())
        values[inside] = (score - float(aggregate(rest))) * (count - size) / size if rest else 0.0
    values += score - values.mean()
    return tuple(values.tolist()), tuple(blocks.tolist())


def _group(sample: Mapping[str, Any]) -> str:
    doc = sample["doc"] if isinstance(sample["doc"], Mapping) else {}
    texts = (
        doc[field] for field in _FIELDS["groups"] if isinstance(doc.get(field), str) and doc[field]
    )
    text = next(texts, None)
    return str(sample["doc_id"]) if text is None else fingerprint([text])[:12]


def item_keys(samples: Sequence[Mapping[str, Any]], *, rows: bool) -> tuple[str, ...]:
    """The documents' own keys, else their rows; without choices, with a mark of their targets."""
    docs = [each["doc"] if isinstance(each["doc"], Mapping) else {} for each in samples]
    for fields in _FIELDS["keys"]:
        named = [" ".join(str(doc.get(field, "")) for field in fields).strip() for doc in docs]
        if all(named) and len(set(named)) == len(named):
            return tuple(named)
    marks = ["" if rows else f" {fingerprint([str(each['target'])])[:12]}" for each in samples]
    return tuple(f"{each['doc_id']}{mark}" for each, mark in zip(samples, marks, strict=True))


def _label(task: Any, sample: Mapping[str, Any]) -> int:
    target = sample["target"]
    if isinstance(target, int):
        return target
    choices = task.doc_to_choice(sample["doc"]) if task.config.doc_to_choice else []
    return choices.index(target) if target in choices else -1


@cache
def _manager(defaults: bool) -> Any:
    return _package("tasks").TaskManager(include_defaults=defaults)


def _load(source: str) -> dict[str, Any]:
    """The tasks of a name or file, which lm-eval loads with their data sets."""
    manager = _manager(defaults=not Path(source).is_file())
    if not Path(source).is_file() and source not in manager.all_tasks:
        what = f"lm-eval has no task `{source}`"
        raise UserError(what, where="--tasks", hint=nearest(source, manager.all_tasks))
    silent = why_silent()
    try:
        with _offline() if silent else nullcontext():
            return manager.load([source])["tasks"]
    except Exception as error:  # of any library that reads data sets
        what = f"lm-eval cannot load this task: {type(error).__name__}: {error}"
        hint = WORDS["from_files"] if silent else ""
        what = f"{what}; the hub does not answer ({silent})" if silent else what
        raise UserError(what, where=f"{HARNESS}{source}", hint=hint) from None


@contextmanager
def _offline() -> Iterator[None]:
    """Data sets are read from files and the hub's cache alone, without asking for minutes."""
    from huggingface_hub import constants

    places: tuple[Any, ...] = (constants, importlib.import_module("datasets").config)
    before = [place.HF_HUB_OFFLINE for place in places]
    try:
        for place in places:
            place.HF_HUB_OFFLINE = True
        yield
    finally:
        for place, value in zip(places, before, strict=True):
            place.HF_HUB_OFFLINE = value


def _package(module: str) -> Any:
    require("lm_eval", "lm-eval")
    package = importlib.import_module(f"lm_eval.{module}")
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    return package
