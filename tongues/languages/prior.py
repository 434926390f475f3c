"""The prior for losses of models of languages: a mixed model, as an object and as a file.

Of the published losses of many languages (benchmarks/prior_fit.py): by how much text a
language has, its family and its script, in log bits per byte.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

Array = np.ndarray
LARGEST = 9.0  # log10 of the most content bytes in the table


@dataclass(frozen=True, slots=True, eq=False)
class LossPrior:
    """Posterior of a mixed model of six log bits a language: two n-grams and four sizes of run.

    effects: (3 + families + scripts, 6), of `columns` and of each group, and their covariance over
    all entries. spread: (3, 6, 6), covariances among families, scripts and languages. fall: of the
    log deviation with each decade of text. reach: slope and level of the most text that models of
    a language were trained on, by the text there is (log10). levels: of each language in the table,
    how far its runs are from what the rest predicts, and how many they are. factors: (2, 4), on the
    deviation at a gigabyte, so that 95 % intervals held for languages left out: of known families
    and of new ones, by nothing else known, n-grams, runs, and both. law: log loss by the published
    law at the usual size for each amount of text, since to import the laws takes longest of all.
    """

    families: tuple[str, ...]
    scripts: tuple[str, ...]
    effects: Array
    covariance: Array
    spread: Array
    fall: float
    reach: tuple[float, float]
    levels: Mapping[str, tuple[float, int]]
    factors: Array
    law: Array

    def normal(
        self,
        family: str,
        script: str,
        amount: float,
        reach: float,
        level: tuple[float, int] | None = None,
    ) -> tuple[Array, Array]:
        """Mean and covariance of a language's six log bits per byte of content.

        amount, reach: log10 of the content bytes there are, and that models could be trained on.
        level: of a language in the table.
        """
        scale, count = width(amount, self.fall), self.effects.shape[1]
        row = np.concatenate([columns(amount, reach), np.zeros(len(self.families + self.scripts))])
        own = self.spread[2].copy()
        groups = (family, self.families, 3, 0), (script, self.scripts, 3 + len(self.families), 1)
        for name, names, start, which in groups:
            if name in names:
                row[start + names.index(name)] = scale
            else:
                own += self.spread[which]
        own *= scale**2
        covariance = self.covariance.reshape(len(row), count, len(row), count)
        mean, shared = row @ self.effects, np.einsum("i,iajb,j->ab", row, covariance, row)
        if level is None:
            return mean, shared + own
        off, runs = level  # of the mean over its runs, which the shared effects know already
        pick = np.zeros(count)
        pick[2 : 2 + runs] = 1.0 / runs
        pull = own @ pick / (pick @ own @ pick)
        return mean + pull * off, own - np.outer(pull, own @ pick)

    def reach_of(self, amount: float, *used: float) -> float:
        """Log10 of the content bytes that models can be trained on, at least those used."""
        slope, level = self.reach
        return min(LARGEST, max(slope * amount + level, *used))

    def factor(self, family: str, data: float, *, sample: bool, runs: bool) -> float:
        """On the deviation; data: log10 of content bytes. It is 1 up to 100 MB."""
        at_gigabyte = self.factors[int(family not in self.families), sample + 2 * runs]
        return float(at_gigabyte ** np.clip(data - 8.0, 0.0, 1.0))

    def save(self, path: Path) -> None:
        """Write it as one file, which `read_prior` reads."""
        tags = list(self.levels)
        np.savez_compressed(
            path,
            families=np.array(self.families),
            scripts=np.array(self.scripts),
            effects=self.effects.astype(np.float32),
            covariance=self.covariance[np.triu_indices(len(self.covariance))].astype(np.float32),
            spread=self.spread,
            line=np.array([self.fall, *self.reach]),
            tags=np.array(tags),
            factors=self.factors,
            law=self.law,
            levels=np.array([self.levels[tag] for tag in tags], dtype=np.float32),
        )


def columns(amount: float, reach: float) -> Array:
    """What the amount of text says of the mean: the covariates of the linear part."""
    return np.array([1.0, np.clip(amount, 7.0, 12.0) - 10.0, min(reach, LARGEST) - LARGEST])


def width(amount: float, fall: float) -> float:
    """The factor on all deviations of a language with that much text: little text varies more."""
    return float(np.exp(-fall * (np.clip(amount, 7.0, 12.0) - 10.0)))


@cache
def read_prior(path: Path | None = None) -> LossPrior:
    """The prior that comes with the package, or one that was saved."""
    place = files("tongues.languages") / "prior.npz" if path is None else path
    with place.open("rb") as file, np.load(file) as arrays:
        fall, *reach = arrays["line"].tolist()
        levels = {
            str(tag): (float(off), int(runs))
            for tag, (off, runs) in zip(arrays["tags"], arrays["levels"], strict=True)
        }
        families, scripts = (tuple(map(str, arrays[key])) for key in ("families", "scripts"))
        effects = arrays["effects"].astype(float)
        half = np.zeros((effects.size, effects.size))
        half[np.triu_indices(effects.size)] = arrays["covariance"]
        return LossPrior(
            families,
            scripts,
            effects,
            half + np.triu(half, 1).T,
            arrays["spread"],
            fall,
            (reach[0], reach[1]),
            levels,
            arrays["factors"],
            arrays["law"],
        )
