"""How well donors are ranked: forecasts of ATLAS's transfer scores, targets left out of the fit.

usage: python benchmarks/donors.py

Each of the ten targets is left out in turn: the model is fitted to the other nine, and its forecast
of the 29 donors compared with the scores by Spearman's rank correlation (ties at their mean rank)
and by whether a donor with the highest score is among the first three. The output also goes to
donors.txt.
"""

from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np

from tongues.languages import donors as module
from tongues.languages import find_language
from tongues.languages.donors import fit_transfer, measured_transfer

SCORES = measured_transfer()
TARGETS = list(dict.fromkeys(target for target, _ in SCORES))
Forecast = Callable[[str, list[str]], np.ndarray]


def donors_of(target: str) -> list[str]:
    """The donors that were measured on a target."""
    return [donor for of, donor in SCORES if of == target]


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks, those of ties at their mean."""
    smaller = (values[:, None] > values[None, :]).sum(axis=1)
    return smaller + ((values[:, None] == values[None, :]).sum(axis=1) - 1) / 2


def left_out(target: str, donors: list[str], *, new: bool = False) -> np.ndarray:
    """Forecasts by a model that has not seen the target; new: nor the donor."""
    seen = {pair: score for pair, score in SCORES.items() if pair[0] != target}
    if not new:
        model = fit_transfer(seen)
        return model.forecast(find_language(target), list(map(find_language, donors)))
    forecasts = []
    for donor in donors:
        model = fit_transfer({pair: x for pair, x in seen.items() if donor not in pair})
        forecasts.append(model.forecast(find_language(target), [find_language(donor)])[0])
    return np.array(forecasts)


def rule(target: str, donors: list[str]) -> np.ndarray:
    """Script, then family, then branch."""
    of, values = find_language(target), []
    for donor in map(find_language, donors):
        values.append(4 * (of.script == donor.script) + 2 * (of.family[:1] == donor.family[:1]))
        values[-1] += of.family[:2] == donor.family[:2]
    return np.array(values, float)


def one_feature(place: int, sign: int, target: str, donors: list[str]) -> np.ndarray:
    """A feature alone, without a fit."""
    pairs = [(find_language(target), find_language(donor)) for donor in donors]
    return sign * module.pair_features(pairs)[:, place]


def measure(name: str, forecast: Forecast) -> str:
    """A line on a way to rank."""
    rhos, firsts, threes, errors = [], 0, 0, []
    for target in TARGETS:
        donors = donors_of(target)
        truth = np.array([SCORES[target, donor] for donor in donors])
        guess = forecast(target, donors)
        rhos.append(np.corrcoef(ranks(truth), ranks(guess))[0, 1])
        best = truth[np.argsort(-guess, kind="stable")] == truth.max()
        firsts, threes = firsts + bool(best[0]), threes + bool(best[:3].any())
        errors.extend((truth - guess).tolist())
    spread = f"{np.sqrt(np.mean(np.square(errors))):.3f}" if "model" in name else ""
    return f"{name:58} {np.mean(rhos):5.2f} {min(rhos):6.2f} {firsts:6} {threes:6} {spread:>7}"


def coverage(new: bool) -> float:
    """Share of scores inside the interval that `rank_donors` gives."""
    half = 2.26 * module.SPREAD[not new]
    inside = [
        abs(SCORES[target, donor] - guess) <= half
        for target in TARGETS
        for donor, guess in zip(
            donors_of(target), left_out(target, donors_of(target), new=new), strict=True
        )
    ]
    return float(np.mean(inside))


def main() -> None:
    """Print the table and keep it."""
    head = ("way to rank donors", "rho", "least", "first", "three", "spread")
    lines = [f"{date.today()}; {len(SCORES)} scores of {len(TARGETS)} targets, each left out", ""]
    lines += [f"{head[0]:58} {head[1]:>5} {head[2]:>6} {head[3]:>6} {head[4]:>6} {head[5]:>7}"]
    lines += [
        measure("script, then family, then branch", rule),
        measure("kinship", partial(one_feature, 0, 1)),
        measure("shared n-grams of bytes", partial(one_feature, 1, 1)),
        measure("grammar, unknown features predicted", partial(one_feature, 2, -1)),
        measure("the model", left_out),
        measure("the model, donors left out too", partial(left_out, new=True)),
    ]
    with patch.object(module, "_grammar", lambda a, b: None):
        lines.append(measure("the model without lang2vec", left_out))
        lines.append(
            measure("the model without lang2vec, donors left out too", partial(left_out, new=True))
        )
    with patch.object(module, "_overlap", lambda a, b: None):
        lines.append(measure("the model with every overlap filled", left_out))
    for penalty in (1.0, 10.0):
        with patch.object(module, "_WEIGHT", penalty), patch.object(module, "_EFFECT", penalty):
            lines.append(measure(f"the model, penalties of {penalty:g} for 3", left_out))
    lines += ["", f"95 % intervals hold {coverage(False):.1%} of the scores of donors measured on"]
    lines[-1] += f" other targets, {coverage(True):.1%} of donors left out too"
    weights = dict(
        zip(("kinship", "overlap", "grammar"), fit_transfer(SCORES).weights, strict=True)
    )
    lines.append(
        "weights per standard deviation: "
        + ", ".join(f"{name} {value:+.3f}" for name, value in weights.items())
    )
    effects = sorted(fit_transfer(SCORES).effects.items(), key=lambda pair: -pair[1])
    lines.append("effects of donors: " + ", ".join(f"{tag} {x:+.2f}" for tag, x in effects))
    text = "\n".join(lines)
    print(text)
    (Path(__file__).with_suffix(".txt")).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
