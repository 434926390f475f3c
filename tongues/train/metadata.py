"""The head of a model card: YAML between two lines of dashes, as the hub reads it."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from langcodes import tag_is_valid
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tongues.core.errors import code_text
from tongues.core.estimate import Estimate
from tongues.core.files import read_json
from tongues.core.hub import is_hub_id, local
from tongues.runs.record import read_run

UNKNOWN = "unknown"  # the hub's own word for a licence


@dataclass(frozen=True, slots=True)
class Licence:
    """The licence of a model, in the words of the hub; name and link where it is `other`."""

    licence: str = UNKNOWN
    name: str | None = None
    link: str | None = None

    @property
    def label(self) -> str:
        """Its name with its link; empty where it is unknown."""
        link = f" ({self.link})" if self.link else ""
        return "" if self.licence == UNKNOWN else f"`{self.name or self.licence}`{link}"

    @property
    def sentence(self) -> str:
        """What a card says of it."""
        if not self.label:
            return "It is not known here: name it in the head of this card before you publish."
        return f"{self.label}, as its base has it. Its text may ask for more."


@dataclass(frozen=True, slots=True)
class ScoredText:
    """What a model scored on a text or task in a language."""

    source: str
    language: str
    metric: str  # bits_per_byte or accuracy
    value: Estimate


@dataclass(frozen=True, slots=True)
class CardScores:
    """An evaluation of a model as its card has it: a section, and numbers for the head."""

    section: str = ""
    scores: tuple[ScoredText, ...] = ()


def front_matter(
    languages: Sequence[str],
    base_model: str | None,
    licence: Licence,
    datasets: Sequence[str] = (),
    library: str = "transformers",
) -> str:
    """The head, by which the hub lists and filters models.

    What is not known is left out, but for the licence. base_model, datasets: on the hub.
    """
    words = {"license": licence.licence, "license_name": licence.name, "license_link": licence.link}
    lines = [f"{key}: {json.dumps(value)}" for key, value in words.items() if value]
    lines += [f"library_name: {library}", "pipeline_tag: text-generation", "language:"]
    lines += [f"- {json.dumps(lang)}" for lang in languages]  # `no` unquoted is false
    lines += [f"base_model: {json.dumps(base_model)}"] if base_model else []
    lines += ["datasets:"] if datasets else []
    lines += [f"- {json.dumps(name)}" for name in datasets]
    return "\n".join(["---", *lines, "tags:", "- tongues", "---"])


def model_index(name: str, scores: Sequence[ScoredText]) -> str:
    """The lines of a head that list what a model scored, each with its 95 % interval."""
    lines = ["model-index:", f"- name: {json.dumps(name)}", "  results:"]
    for score in scores:
        value, percent = score.value, score.metric == "accuracy"
        unit = {"accuracy": "accuracy in %", "bits_per_byte": "bits per byte"}[score.metric]
        factor = 100.0 if percent else 1.0
        ends = {"low": value.low, "high": value.high}
        shown = {key: round(end * factor, 6) for key, end in ends.items() if end is not None}
        metric = {"type": score.metric, "value": round(value.value * factor, 6), "name": unit}
        metric |= {"args": {"confidence": 0.95, **shown}} if shown else {}
        data = {"name": f"{score.source}, {score.language}", "type": score.source}
        lines += [
            '  - task: {"type": "text-generation"}',
            f"    dataset: {json.dumps(data | {'config': score.language})}",
            "    metrics:",
            f"    - {json.dumps(metric)}",
        ]
    return "\n".join(lines)


def licence_of(base: str | None) -> Licence:
    """Of a base's folder, by the head of its card or its config.json; unknown elsewhere."""
    if base is None or not Path(base).is_dir():
        return Licence()
    config = Path(base) / "config.json"
    about: dict[str, Any] = read_json(config) if config.is_file() else {}
    about |= _head(Path(base))
    words = [about.get(key) for key in ("license", "license_name", "license_link")]
    first, name, link = (str(word) if isinstance(word, str) else None for word in words)
    return Licence(first or UNKNOWN, name, link)


def languages_of(folder: Path) -> tuple[str, ...]:
    """What a model knows by the head of its folder's card; empty where that says nothing."""
    named = _head(folder).get("language")
    words = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    return tuple(word for word in words if isinstance(word, str) and tag_is_valid(word))


def _head(folder: Path) -> dict[str, Any]:
    card, yaml = folder / "README.md", YAML(typ="safe")
    yaml.max_depth = 20  # chosen: no card comes near it
    with suppress(YAMLError, OSError, RecursionError, TypeError, ValueError):  # a head that is none
        _, _, rest = card.read_text(encoding="utf-8").partition("---\n")
        return dict(yaml.load(rest.partition("\n---")[0]))
    return {}


def first_base(model: str | None, workspace: Path) -> str | None:
    """What the first of a chain of runs started from; None where that was random weights."""
    while model and (workspace / "runs" / model / "run.json").is_file():
        base = read_run(workspace / "runs" / model).base
        model = base.pinned if base else None
    return str(local(model) or model) if model and is_hub_id(model) else model


def hub_name(model: str | None, workspace: Path) -> str | None:
    """The name on the hub of the first base of a chain of runs, where that is known.

    Known are models in the hub's own cache, whose folders are named for them, and folders whose
    card names one.
    """
    model = first_base(model, workspace)
    if model is None:
        return None
    named = _head(Path(model)).get("base_model")
    return _cached_name(model) or (named if isinstance(named, str) and is_hub_id(named) else None)


def _cached_name(model: str) -> str | None:
    folders = pairwise(Path(model).resolve().parts)
    cached = (folder for folder, below in folders if below == "snapshots")
    named = next((folder for folder in cached if folder.startswith("models--")), "")
    return named.removeprefix("models--").replace("--", "/") or None


def base_label(model: str, workspace: Path) -> str:
    """A run's name, a name on the hub, or that of a folder without its path."""
    if (workspace / "runs" / model / "run.json").is_file():
        return model
    parts = [part for part in Path(model).parts if part != "model"]
    there, first = Path(model).exists(), first_base(model, workspace)
    cached = _cached_name(first) if first else None
    return code_text(cached or (parts[-1] if there else _shown(model)))


def quantized_base(model: str | None, workspace: Path) -> str:
    """A sentence where the first base of a chain of runs was quantized, by its card."""
    folder = first_base(model, workspace)
    how = _head(Path(folder)).get("quantization") if folder else None
    if not isinstance(how, str):
        return ""
    name = hub_name(model, workspace)
    of = f"`{code_text(name)}`" if name else "model"
    return f"Its base is a quantized {of}: {code_text(how)}."


def without_paths(value: Any) -> Any:
    """Settings in which every path of this machine is the name of its file or folder alone."""
    if isinstance(value, Mapping):
        return {key: without_paths(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [without_paths(each) for each in value]
    return _shown(value) if isinstance(value, str) else value


def _shown(text: str) -> str:
    local = text.startswith(("/", "~/", "./", "../"))
    local = local or (len(text) < 256 and "/" in text and Path(text).exists())
    return Path(text).name if local and Path(text).name else text
