"""Laws in files: what `tongues fit -o` wrote, read back."""

import json
from pathlib import Path

from tongues.errors import UserError
from tongues.files import read_json
from tongues.laws.law import Law
from tongues.laws.presets import PRESETS, preset

__all__ = ["find_law", "read_laws_file"]


def read_laws_file(path: Path | str) -> list[Law]:
    """The law, or the laws, of a file; a UserError says what is wrong with it."""
    path = Path(path)
    try:
        data = read_json(path)
    except FileNotFoundError:
        raise UserError("there is no such file", where=str(path)) from None
    except IsADirectoryError:
        hint = "name the file in it that holds the law"
        raise UserError("is a folder, and no file of a law", where=str(path), hint=hint) from None
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror})", where=str(path)) from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"is no JSON file ({error})", where=str(path)) from None
    entries = data.get("laws", [data]) if isinstance(data, dict) else None
    if not isinstance(entries, list) or not all(_is_law(entry) for entry in entries):
        hint = "write one by `tongues fit RUNS -o law.json`"
        raise UserError("holds no law", where=str(path), hint=hint)
    laws = []
    for entry in entries:
        try:
            laws.append(Law.from_json(entry))
        except UserError as error:
            raise UserError(error.what, where=str(path), hint=error.hint) from None
    return laws


def find_law(word: str, form: str) -> Law:
    """The one law of that form in a file, or a published one by name."""
    found = [preset(word)] if word in PRESETS else read_laws_file(Path(word))
    fitting = [law for law in found if law.form == form]
    if len(fitting) == 1:
        return fitting[0]
    has = ", ".join(f"{law.form} {law.target}".strip() for law in found)
    what = f"holds {len(fitting) or 'no'} {form} law{'s' if fitting else ''}: {has}"
    raise UserError(what, where=word, hint="give a file with exactly one")


def _is_law(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("law"), str) and "params" in entry
