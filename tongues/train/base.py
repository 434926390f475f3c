"""The model a run continues from, and what its languages are to the run; nothing is guessed."""

import re
from pathlib import Path

from tongues.errors import UserError, nearest
from tongues.files import file_hash, fingerprint
from tongues.recipe import BaseChoice, Train
from tongues.recipe.base import NAME
from tongues.roles import Roles, list_languages
from tongues.runs import read_run
from tongues.states import state_of

__all__ = ["base_fingerprint", "base_languages", "find_base", "model_folder", "roles_of"]

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+$")


def find_base(base: str | None, workspace: Path) -> Path | None:
    """The directory of the run or Hugging Face folder a run continues from."""
    if base is None:
        return None
    store = workspace / "runs"
    if (store / base / "run.json").is_file():
        if read_run(store / base).status != "finished":
            what = f"`{base}` is {state_of(store / base).state}, not finished"
            raise UserError(what, where="train.base", hint="train it to its end first")
        return store / base
    if (Path(base) / "config.json").is_file():
        return Path(base)
    what = f"`{base}` is neither a run in {store} nor a Hugging Face folder"
    raise UserError(what, where="train.base", hint=_how_to_get(base, store))


def is_run_name(base: str | None, workspace: Path) -> bool:
    """Whether a base that is not there may become a run of the store: no path, no id of the hub."""
    if base is None or Path(base).exists():
        return False
    words, place = base.split("/"), workspace / "runs" / base
    return all(map(NAME.match, words)) and (len(words) == 1 or place.parent.is_dir())


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


def model_folder(base: Path) -> Path:
    """The Hugging Face folder of a run, or the folder itself."""
    return base / "model" if (base / "run.json").is_file() else base


def base_fingerprint(base: Path | None) -> str | None:
    """Of the run in a directory, or of the weights in a Hugging Face folder."""
    if base is None:
        return None
    if (base / "run.json").is_file():
        return read_run(base).fingerprint
    return fingerprint([file_hash(file) for file in sorted(base.glob("*.safetensors"))])


def roles_of(settings: Train, workspace: Path) -> Roles:
    """Base languages, targets and replay of a run; a UserError says what must be declared."""
    if settings.base is None:
        _check_scratch(settings)
        return Roles(tuple(settings.mixture))
    known = base_languages(settings.base, workspace)
    _check_replay(settings, known)
    _check_targets(settings, known)
    _check_hold(settings)
    replay = {lang: share for lang, share in settings.replay.items() if share}
    return Roles(tuple(settings.mixture), known, replay)


def base_languages(base: BaseChoice, workspace: Path) -> tuple[str, ...]:
    """What the model that a run continues from knows: by its own record, or as declared."""
    record = workspace / "runs" / base.model
    if not (record / "run.json").is_file():
        record = Path(base.model)
    if (record / "run.json").is_file():
        known = read_run(record).languages
        if base.languages and set(base.languages) != set(known):
            what = f"`{base.model}` was trained on {list_languages(known)}, by its record"
            raise UserError(what, where="train.base.languages", hint="leave `languages` out")
        return known
    if not base.languages:
        find_base(base.model, workspace)  # says so where it is not there at all
        what = f"which languages `{base.model}` knows is not declared"
        hint = f"such as `base: {{model: {base.model}, languages: [en]}}`"
        raise UserError(what, where="train.base.languages", hint=hint)
    return tuple(base.languages)


def _check_scratch(settings: Train) -> None:
    """A run from random weights has targets alone."""
    if settings.replay or settings.hold:
        key, word = ("replay", "replay") if settings.replay else ("hold", "hold")
        what = f"a run from random weights has nothing to {word}"
        hint = "name its base by `train.base`"
        if settings.replay:
            hint += ", or put the language into `train.mixture`"
        raise UserError(what, where=f"train.{key}", hint=hint)
    _check_named(settings)


def _check_named(settings: Train) -> None:
    """Targets, where they are named, are what the mixture holds."""
    if not settings.targets:
        return
    missing = [lang for lang in settings.targets if lang not in settings.mixture]
    if missing:
        what = f"`{missing[0]}` is a target and has no share of the mixture"
        raise UserError(what, where="train.targets", hint="give it one in `train.mixture`")
    beyond = [lang for lang in settings.mixture if lang not in settings.targets]
    if beyond:
        what = f"`{beyond[0]}` is in the mixture and is not a target"
        hint = "add it to `train.targets`"
        hint += ", or move its share to `train.replay`" if settings.base else ""
        raise UserError(what, where="train.mixture", hint=hint)


def _check_targets(settings: Train, known: tuple[str, ...]) -> None:
    """The mixture is what is learned; a language of the base is in it only if that is said."""
    _check_named(settings)
    both = [lang for lang in settings.mixture if lang in known and lang not in settings.targets]
    if both:
        lang = both[0]
        what = f"`{lang}` is a language of the base and in the mixture"
        hint = (
            f"to keep it, move its share to `train.replay: {{{lang}: 20%}}`; to learn it further, "
            f"name all that is learned: `train.targets: [{', '.join(settings.mixture)}]`"
        )
        raise UserError(what, where="train.mixture", hint=hint)


def _check_replay(settings: Train, known: tuple[str, ...]) -> None:
    """Replay is text of the base's languages, which the mixture does not hold."""
    replayed, where = sum(settings.replay.values()), "train.replay"
    if replayed >= 1:
        what = f"{replayed * 100:.4g}% of replay leave nothing for the mixture"
        raise UserError(what, where=where, hint="give it less")
    twice = settings.replay.keys() & settings.mixture.keys()
    if twice:
        what = f"`{min(twice)}` is in the mixture and replayed"
        raise UserError(what, where=where, hint="give it one share, in the one or the other")
    strange = [lang for lang in settings.replay if lang not in known]
    if strange:
        what = f"`{strange[0]}` is replayed and is not a language of the base"
        what += f", which knows {list_languages(known)}"
        hint = "learn it (`train.mixture`), or declare it in `train.base.languages`"
        raise UserError(what, where=where, hint=hint)


def _check_hold(settings: Train) -> None:
    """What is held is replayed from the start, and the end of the run shows whether it was."""
    for lang in settings.hold:
        if lang in settings.mixture:
            what = f"`{lang}` is learned by this run, and only what is replayed can be held"
            hint = f"take it out of `train.mixture`, and start with `replay: {{{lang}: 5%}}`"
        elif not settings.replay.get(lang):
            what = f"`{lang}` is to be held and is not replayed"
            hint = f"start with `replay: {{{lang}: 5%}}`"
        elif settings.evaluate and lang not in settings.evaluate:
            what = f"`{lang}` is to be held and is not evaluated"
            hint = "add it to `train.evaluate`"
        else:
            continue
        raise UserError(what, where="train.hold", hint=hint)
