"""The model a run continues from, and what its languages are to the run; nothing is guessed."""

from collections.abc import Iterator
from pathlib import Path

from tongues.core.errors import UserError, nearest
from tongues.core.files import file_hash, files_named, fingerprint
from tongues.core.foreign.folder import check_foreign
from tongues.core.hub import hub_folder
from tongues.core.roles import Roles, list_languages
from tongues.recipe import BaseChoice, Train, training_command
from tongues.recipe.base import NAME
from tongues.runs.record import read_run
from tongues.runs.states import state_of

PLACEHOLDER_BASE = "PUT-YOUR-BASE-HERE"  # in recipes that leave the base to their reader


def find_base(base: str | None, workspace: Path, *, weights: bool = True) -> Path | None:
    """The directory of the run or Hugging Face folder a run continues from.

    A model of the hub is fetched into the hub's cache; weights: with its weights.
    """
    if base is None:
        return None
    store = workspace / "runs"
    if (store / base / "run.json").is_file():
        if read_run(store / base).status != "finished":
            what = f"`{base}` is {state_of(store / base).state}, not finished"
            raise UserError(what, where="train.base", hint="train it to its end first")
        return store / base
    if (Path(base) / "config.json").is_file():
        check_foreign(Path(base))
        return Path(base)
    trained = training_command(base, workspace)
    folder = None if trained else hub_folder(base, store, weights=weights, where="train.base")
    if folder:
        return folder
    what = f"`{base}` is neither a run in {store} nor a Hugging Face folder"
    hint = f"make it by `{trained}`" if trained else _how_to_get(base, store)
    raise UserError(what, where="train.base", hint=hint)


def find_run(base: str, workspace: Path) -> Path | None:
    """The directory of the run that is named: in the store, by its directory, or by its `model`."""
    place = Path(base)
    parent = [place.parent] if place.name == "model" else []
    places = (workspace / "runs" / base, place, *parent)
    return next((one for one in places if (one / "run.json").is_file()), None)


def is_run_name(base: str | None, workspace: Path) -> bool:
    """Whether a base that is not there may become a run of the store: no path, no id of the hub."""
    if base is None or Path(base).exists():
        return False
    words, place = base.split("/"), workspace / "runs" / base
    return all(map(NAME.match, words)) and (len(words) == 1 or place.parent.is_dir())


def _how_to_get(base: str, store: Path) -> str:
    if base == PLACEHOLDER_BASE:
        return "write the base in its place: a run, a Hugging Face folder or an id of the hub"
    names = [str(path.parent.relative_to(store)) for path in files_named(store, "run.json")]
    first, _, rest = base.partition("/")
    if first and rest and (first == "runs" or Path(first).is_dir()):
        beside = [str(path) for path in Path(base).parent.glob("*") if path.is_dir()]
        near = nearest(rest, names) if first == "runs" else nearest(base, beside)
        return f"there is no such run or folder; {near}"
    near = nearest(base, names) if names else ""
    if "did you mean" in near:
        return near
    if base.startswith(("/", ".", "~")) or Path(base).exists():
        return "a Hugging Face folder holds config.json, the weights and the tokenizer"
    made = f"make it by `tongues train` of a recipe with `train.run: {base}`"
    return "; ".join(filter(None, (f"{made}, or name a Hugging Face folder", near)))


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
        find_base(base.model, workspace, weights=False)  # says so where it is not there at all
        what = f"which languages `{base.model}` knows is not declared"
        hint = f"such as `base: {{model: {base.model}, languages: [en]}}`"
        raise UserError(what, where="train.base.languages", hint=hint)
    return tuple(base.languages)


def roles_of(settings: Train, workspace: Path) -> Roles:
    """Base languages, targets and replay of a run; a UserError says what must be declared."""
    known = base_languages(settings.base, workspace) if settings.base else ()
    for where, what, hint in _problems(settings, known):
        raise UserError(what, where=f"train.{where}", hint=hint)
    check_held(settings)
    replay = {lang: share for lang, share in settings.replay.items() if share}
    return Roles(tuple(settings.shares), known, replay)


def _problems(settings: Train, known: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """The key of `train` that is wrong, what is, and what to do about it; the first counts."""
    replayed = sum(settings.replay.values())
    if settings.replay and not settings.base:
        hint = "name its base by `train.base`, or put the language into `train.mixture`"
        yield "replay", "a run from random weights has nothing to replay", hint
    if replayed >= 1:
        what = f"{replayed * 100:.4g}% of replay leave nothing for the mixture"
        yield "replay", what, "give it less"
    for lang in sorted(settings.replay.keys() & settings.shares.keys()):
        hint = "give it one share, in the one or the other"
        yield "replay", f"`{lang}` is in the mixture and replayed", hint
    for lang in settings.replay:
        if lang not in known:
            what = f"`{lang}` is replayed and is not a language of the base, which knows "
            hint = "learn it (`train.mixture`), or declare it in `train.base.languages`"
            yield "replay", what + list_languages(known), hint
    for lang in settings.targets:
        if lang not in settings.shares:
            what = f"`{lang}` is a target and has no share of the mixture"
            yield "targets", what, "give it one in `train.mixture`"
    for lang in settings.shares:
        if settings.targets and lang not in settings.targets:
            add = "add it to `train.targets`"
            hint = f"{add}, or move its share to `train.replay`" if settings.base else add
            yield "mixture", f"`{lang}` is in the mixture and is not a target", hint
        elif lang in known and not settings.targets:
            hint = (
                f"to keep it, move its share to `train.replay: {{{lang}: 20%}}`; to learn it "
                "further, name all that is learned: "
                f"`train.targets: [{', '.join(settings.shares)}]`"
            )
            yield "mixture", f"`{lang}` is a language of the base and in the mixture", hint


def check_held(settings: Train) -> None:
    """Refuse to hold what is not replayed from the start and evaluated at the end."""
    for lang in settings.max_forgetting:
        start = f"start with `replay: {{{lang}: 5%}}`"
        if not settings.base:
            what = "a run from random weights has nothing to hold"
            hint = "name its base by `train.base`"
        elif lang in settings.shares:
            what = f"`{lang}` is learned by this run, and only what is replayed can be held"
            hint = f"take it out of `train.mixture`, and {start}"
        elif not settings.replay.get(lang):
            what, hint = f"`{lang}` is to be held and is not replayed", start
        elif settings.eval_languages and lang not in settings.eval_languages:
            what = f"`{lang}` is to be held and is not evaluated"
            hint = "add it to `train.eval_languages`"
        else:
            continue
        raise UserError(what, where="train.max_forgetting", hint=hint)
