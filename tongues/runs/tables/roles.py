"""The column of each role: named by the user, or found by its usual name."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tongues.core.beside import read_beside
from tongues.core.errors import UserError, nearest
from tongues.core.magnitudes import SCALE
from tongues.runs.tables.files import RunTable


@dataclass(frozen=True, slots=True)
class Role:
    """A variable of laws or a label: what `--column` calls it, and its usual names."""

    word: str
    names: tuple[str, ...]
    meaning: str

    @property
    def flag(self) -> str:
        """The option that names its column, but for the name."""
        return f"--column {self.word}"


ROLES: Mapping[str, Role] = {
    key: Role(row["word"], tuple(row["names"]), row["meaning"])
    for key, row in read_beside(__file__, "roles.toml").items()
}
LOSSES = ("loss", "S")  # nats per token; a column of perplexities is read as their logarithm
COUNTS = ("N", "D", "C", "U")  # their cells may be written like 20M, and their names end in `(M)`
# Scales of numbers in names of columns.
_WORDS = {"thousand": 10**3, "million": 10**6, "mn": 10**6, "billion": 10**9, "bn": 10**9}
_WORDS |= {"trillion": 10**12}
_HEAD = re.compile(r"^(.*?)\s*[(\[]\s*(?:in )?([^()\[\]]*?)\s*[)\]]$|^(.*?)_(?:in_)?([A-Za-z]+)$")


def column_scale(column: str) -> tuple[str, int]:
    """The name and the scale of a column such as `params (M)` or `tokens_billions`."""
    match = _HEAD.match(column.strip())
    if match is None:
        return column, 1
    name, inside, stem, suffix = match.groups()
    unit = re.sub(r"(?i)\s*(tokens?|param\w*|flops?)$", "", suffix if inside is None else inside)
    word = unit.lower().removesuffix("s")
    if power := re.fullmatch(r"(?:1e|10\^|10\*\*)(\d\d?)", unit):
        scale = 10 ** int(power[1])
    elif word in _WORDS:
        scale = _WORDS[word]
    else:  # after `_` a small letter is a name
        scale = SCALE.get({"K": "k"}.get(unit.upper(), unit.upper()), 1)
        scale = scale if inside is not None or unit.isupper() else 1
    return (name if inside is not None else stem, scale) if scale > 1 else (column, 1)


def is_perplexity(column: str) -> bool:
    """Whether a column's name says that it holds perplexities."""
    return bool(re.search(r"(?i)ppl|perplex", column) and not re.search(r"(?i)log|ln", column))


def named_columns(words: Iterable[str]) -> dict[str, str]:
    """The columns of `params=n_params`, … by role; a UserError names the nearest role."""
    by_word = {role.word: name for name, role in ROLES.items()}
    named: dict[str, str] = {}
    for text in words:
        word, _, column = text.partition("=")
        if word not in by_word:
            hint = nearest(word, by_word) or f"write ROLE=NAME; roles are {', '.join(by_word)}"
            raise UserError(f"there is no role `{word}`", where="--column", hint=hint)
        if not column:
            hint = f"write {word}=NAME, with the name of a column"
            raise UserError(f"`{text}` names no column", where="--column", hint=hint)
        if by_word[word] in named:
            raise UserError(f"{word} has two columns", where="--column", hint="keep one of them")
        named[by_word[word]] = column
    return named


def find_columns(table: RunTable, names: Mapping[str, str]) -> dict[str, str]:
    """The column of every role that has one.

    names: the columns the user named, by role; the others are found by their usual names.
    """
    taken: dict[str, str] = {}
    for role, column in names.items():
        flag = ROLES[role].flag
        if column not in table.columns:
            what, hint = f"there is no column `{column}`", nearest(column, table.columns)
            raise UserError(what, where=flag, hint=hint, code="unknown_column")
        if column in taken:
            what = f"the column `{column}` is named by {taken[column]} too"
            hint = "name a column of its own for each"
            raise UserError(what, where=flag, hint=hint, code="column_twice")
        taken[column] = flag
    free = [column for column in table.columns if column not in taken]
    known = {role: _by_name(role, free) for role in ROLES if role not in names}
    return dict(names) | {role: column for role, column in known.items() if column is not None}


def missing_column(table: RunTable, roles: Iterable[str]) -> UserError:
    """The error for a table without columns of these roles."""
    missing = [ROLES[role] for role in roles]
    what = ", ".join(f"{role.meaning} (`{'`, `'.join(role.names)}`)" for role in missing)
    flags = " ".join(f"{role.flag}=COLUMN" for role in missing)
    shown = ", ".join(f"`{column}`" for column in list(table.columns)[:20])
    more = f" and {len(table.columns) - 20} more" if len(table.columns) > 20 else ""
    where = ", ".join(role.flag for role in missing)
    hint = f"name yours, such as `{flags}`; the columns are {shown}{more}"
    what = f"no column has a usual name of {what}"
    return UserError(what, where=where, hint=hint, code="missing_column")


def _by_name(role: str, columns: Sequence[str]) -> str | None:
    names = ROLES[role].names
    lowered = {column.lower(): column for column in reversed(columns)}
    ends = {column.rpartition("/")[2].lower(): column for column in sorted(columns, reverse=True)}
    lowered = ends | lowered  # wandb's tables have `eval/loss` and `train/loss`: the first
    exact = [name for name in names if name in lowered.values()]
    if role in COUNTS:
        lowered = {column_scale(c)[0].lower(): c for c in reversed(columns)} | lowered
    loose = [lowered[name.lower()] for name in names if name.lower() in lowered]
    return next(iter(exact + loose), None)
