"""Laws to start from: published ones, with what is known to be wrong with them, and files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tongues.core.beside import read_beside
from tongues.core.errors import UserError, nearest
from tongues.core.files import read_json
from tongues.laws.forms import FORMS
from tongues.laws.law import Law
from tongues.laws.words import caution

_UNIT = "loss in nats per token of its authors' tokenizer and text"
_FILE = read_beside(__file__, "presets.toml")


def _law(entry: Mapping[str, Any]) -> Law:
    """A published law of the file."""
    form, study = FORMS.find(entry["form"]), _FILE["studies"][entry["study"]]
    return Law(
        entry["form"],
        dict(zip(form.names, entry["values"], strict=True)),
        source=f"{study['source']}{entry['where']}; {_UNIT}",
        strategy=entry.get("strategy") or form.strategy or "scratch",
        range={name: (low, high) for name, (low, high) in study["range"].items()},
        warnings=tuple(map(caution, entry["cautions"])),
    )


_LAWS = {name: _law(entry) for name, entry in _FILE["laws"].items()}

PRESETS: tuple[str, ...] = tuple(_LAWS)


def preset(name: str) -> Law:
    """A published law; a UserError names the nearest."""
    if name not in _LAWS:
        raise UserError(f"no preset `{name}`", where="law", hint=nearest(name, PRESETS))
    return _LAWS[name]


def read_laws_file(path: Path | str) -> list[Law]:
    """The law, or the laws, of a file; a UserError names what is wrong with it."""
    path = Path(path)
    fitted = f"`tongues fit {path} -o law.json` first"
    try:
        data = read_json(path)
    except OSError as error:
        what = f"cannot be read ({error.strerror})"
        raise UserError(what, where=str(path), hint=fitted * path.is_dir()) from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise UserError("is not a file of a law", where=str(path), hint=fitted) from None
    several = isinstance(data, dict) and isinstance(data.get("laws"), list)
    try:
        return [Law.from_json(entry) for entry in (data["laws"] if several else [data])]
    except UserError as error:
        raise UserError(error.what, where=str(path), hint=error.hint) from None


def find_law(word: str, form: str) -> Law:
    """The one law of that form in a file, or a published one by name."""
    laws = [preset(word)] if word in PRESETS else read_laws_file(Path(word))
    fitting = [law for law in laws if law.form == form]
    if len(fitting) == 1:
        return fitting[0]
    has = ", ".join(f"{law.form} {law.target}".strip() for law in laws)
    what = f"holds {len(fitting) or 'no'} {form} law{'s' if fitting else ''}: {has}"
    raise UserError(what, where=word, hint="give a file with exactly one")
