"""A served model as `/v1/models` lists it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tongues.experts.ensemble.model import Model
from tongues.experts.ensemble.routing import ROUTINGS
from tongues.runs.record import read_run
from tongues.train.base import find_run
from tongues.train.metadata import languages_of
from tongues.use.serve.text_rules import has_template


def describe_model(
    model: Model, created: int, examples: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """OpenAI's fields of a model, and under `tongues` what the page needs.

    created: when, in seconds since 1970. examples: beginnings of texts to try, by language. The
    model's own routing is the first of `routings`; `context` is null where any number of tokens
    fits.
    """
    ensemble, k = model.ensemble, model.ensemble.k
    own_first = sorted(ROUTINGS, key=lambda routing: routing.name != model.routing.name)
    usable = [
        variant
        for routing in own_first
        if k > 1 and (ensemble.lineage.languages or not routing.needs_language)
        for variant in routing.variants(min(k, 3))
    ]
    alone = _known_languages(model) if k == 1 else ()
    aside = {
        "kind": model.kind,
        "experts": [
            {"name": expert.name, "languages": sorted(expert.languages or alone)}
            for expert in ensemble.lineage.experts
        ],
        "languages": sorted(ensemble.lineage.languages or alone),
        "routing": str(model.routing),
        "routings": [
            {"routing": str(one), "title": one.title}
            for one in dict.fromkeys([model.routing, *usable])
        ],
        "context": model.context,
        "chat": has_template(ensemble.tokenizer),
        "examples": dict(examples or {}),
    }
    own = {"id": model.name, "object": "model", "created": created, "owned_by": "tongues"}
    return own | {"tongues": aside}


def _known_languages(model: Model) -> tuple[str, ...]:
    """Those of a single model: by its run's record, or else by its folder's card."""
    folder = model.ensemble.models.folders[0]
    run = find_run(str(folder), Path())
    return read_run(run).languages if run else languages_of(folder)
