"""Laws to start from: published ones, with what is known to be wrong with them, and files."""

import json
from dataclasses import replace
from pathlib import Path

from tongues.core.errors import UserError, nearest
from tongues.core.files import read_json
from tongues.laws.forms import FORMS
from tongues.laws.law import Law
from tongues.laws.words import caution

_UNIT = "loss in nats per token of its authors' tokenizer and text"

_Study = tuple[str, dict[str, tuple[float, float]]]
# Each study with the range of its runs, as far as its authors report it.
_HOFFMANN: _Study = (
    "Hoffmann et al. 2022, arXiv:2203.15556, ",
    {"N": (70e6, 16e9), "D": (5e9, 500e9)},
)
_BESIROGLU: _Study = (
    "Besiroglu et al. 2024, arXiv:2404.10102, ",
    {"N": (57.3e6, 16.2e9), "D": (0.819e9, 318e9), "loss": (2.077, 3.406)},
)
_POINTS = "240 points read off Hoffmann et al.'s figure"
# C4 runs
_MUENNIGHOFF: _Study = (
    "Muennighoff et al. 2023, arXiv:2305.16264, C4, ",
    {"N": (7.1e6, 8.67e9), "D": (0.1e9, 900e9)},
)
_CHINESE = "Zheng et al. 2024, arXiv:2407.02118, Chinese continued from English, "
# table 2 is of these sizes and tokens, figure 1 of this compute
_ZHENG: _Study = (_CHINESE, {"N": (50e6, 5.5e9), "D": (1e9, 110e9)})
_COMPUTE: _Study = (_CHINESE, {"C": (3e17, 3.6e21)})  # 6 N D of the same
_FIGURE = "figure 1, lowest loss against compute"


def _law(form: str, study: _Study, where: str, values: str, *cautions: str) -> Law:
    """A published law; values: of its parameters, in the order of the form's names."""
    params = dict(zip(FORMS.find(form).names, map(float, values.split()), strict=True))
    strategy = FORMS.find(form).strategy or "scratch"
    source, doubts = f"{study[0]}{where}; {_UNIT}", tuple(map(caution, cautions))
    return Law(form, params, source=source, strategy=strategy, range=study[1], warnings=doubts)


_FULL = "1.69337368 406.401018 410.722827 0.33917084 0.2849083"
_C4 = "1.8691436784 520.82495166 1487.7160938 0.3526596 0.3526596 15.387756 5.309743"
_LAWS = {
    "hoffmann2022": _law(
        "chinchilla",
        _HOFFMANN,
        "equation 10 as printed",
        "1.69 406.4 410.7 0.34 0.28",
        "rounded",
        "disputed",
    ),
    "hoffmann2022-full": _law(
        "chinchilla", _HOFFMANN, "the digits of its TeX source", _FULL, "disputed"
    ),
    "besiroglu2024": _law(
        "chinchilla", _BESIROGLU, _POINTS, "1.8172 482.01 2085.43 0.3478 0.3658", "delta"
    ),
    "muennighoff2023": _law("data-constrained", _MUENNIGHOFF, "digits of its code", _C4),
    "zheng2024-scratch": _law(
        "chinchilla", _ZHENG, "table 2", "1.55 420.0 719.5 0.40 0.30", "rounded.biased"
    ),
    "zheng2024-cpt": _law(
        "cpt",
        _ZHENG,
        "table 2",
        "1.55 420.0 433.3 0.40 0.20 0.08",
        "contradicts_savings",
        "rounded.biased",
    ),
    "zheng2024-scratch-compute": _law(
        "power", _COMPUTE, _FIGURE, "0.0 33.69907 0.0579", "below_floor"
    ),
    "zheng2024-cpt-compute": replace(
        _law("power", _COMPUTE, _FIGURE, "0.0 31.9594 0.0575", "below_floor"), strategy="cpt"
    ),
}

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
