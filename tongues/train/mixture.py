"""Shares of a mixture by the text that each language has: temperature with a limit on epochs.

Language i has b_i bytes of training text in t_i tokens. Its byte premium p_i makes them
c_i = b_i / p_i bytes of content: the same content takes 2.6 times the bytes in Burmese. Of a
mixture of T tokens, with the power α and at most E epochs, it has the share

    s_i = min(λ · w_i, E · t_i) / T,    w_i = t_i · c_i^(α − 1),    λ such that Σ s_i = 1.

w_i are the tokens that c_i^α bytes of content take: the budget is compute, so it is in tokens, and
a language whose content takes more of them gets more. α = 0 is UniMax (Chung et al. 2023, arXiv
2304.09151), equal amounts of content; α = 1 is in proportion to the text. Where even E epochs of
all are fewer than T tokens, s_i = t_i / Σ t_j. By small runs, s is the best by `laws/mixtures`.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tongues.core.errors import UserError, nearest
from tongues.core.estimate import Estimate
from tongues.core.randomness import derive_seed
from tongues.core.roles import list_languages
from tongues.languages import find_language
from tongues.languages.fertility import byte_premium
from tongues.laws.mixtures import best_mixture, capped_shares, expected_gain, fit_mixtures
from tongues.recipe import MixtureRule, Recipe
from tongues.runs.record import Cells, DerivedMixture, LanguageShare, run_rows
from tongues.text import check_text, text_bytes
from tongues.text.tokens import open_tokens

_TOKEN = 3.0  # bytes of text in a token until it is prepared; chosen, used for a first estimate
_STEPS = 10_000  # shares are multiples of 0.01 %, as recipes write them
# Of the Dirichlet distribution of proxies' shares: from nearly one language to nearly equal. The
# range, and the least share of a proxy, are chosen, as RegMix draws its own (arXiv 2407.01492).
_STRENGTHS, _LEAST = (0.3, 6.0), 0.002

Texts = Mapping[str, tuple[float, float]]  # training tokens and bytes by language


def mixture_languages(recipe: Recipe, replayed: Mapping[str, float]) -> list[str]:
    """The languages of a mixture by rule: the targets, or all with text that are not replayed."""
    texts = recipe.text.languages
    for lang in recipe.train.targets:
        if lang not in texts:
            what, hint = f"language `{lang}` has no text", nearest(lang, texts)
            raise UserError(what, where="train.targets", hint=hint)
    return recipe.train.targets or [lang for lang in texts if lang not in replayed]


def text_of(recipe: Recipe, workspace: Path) -> dict[str, tuple[float, float]]:
    """Training tokens and bytes of text by language; about, until the text is prepared.

    Where the size of a language's text is not known before, it counts as the largest. A language
    of which no text was kept has none.
    """
    folder = workspace / "tokens" / recipe.name
    if (folder / "tokens.json").is_file():
        counts = {lang: splits["train"] for lang, splits in open_tokens(folder).counts.items()}
        return dict.fromkeys(recipe.text.languages, (0.0, 0.0)) | {
            lang: (float(one["tokens"]), float(one["bytes"])) for lang, one in counts.items()
        }
    sizes = text_bytes(check_text(recipe.text))
    largest = max(sizes.values(), default=0) or 1
    return {lang: ((size or largest) / _TOKEN, size or largest) for lang, size in sizes.items()}


def derive_mixture(
    rule: MixtureRule, languages: Sequence[str], texts: Texts, tokens: float, workspace: Path
) -> DerivedMixture:
    """The shares by a rule, with all that they follow from, for a mixture of `tokens`.

    By proxies they are those by text where the gain over these is not sure to be above zero.
    """
    shares = derive_shares(rule, languages, texts, tokens)
    made: DerivedMixture = {
        "rule": rule.model_dump(mode="json", exclude_none=True),
        "languages": shares,
    }
    if rule.by == "text":
        return made
    by_text = {lang: one["share"] for lang, one in shares.items()}
    counts = np.array([texts[lang][0] for lang in languages])
    best, gain = _by_proxies(rule, workspace, by_text, _caps(rule, counts) / tokens)
    by_proxies = dict(zip(languages, _rounded(best).tolist(), strict=True))
    if gain.excludes_zero > 0:
        for (lang, share), count in zip(by_proxies.items(), counts, strict=True):
            shares[lang]["share"] = share
            shares[lang]["epochs"] = share * tokens / max(count, 1.0)
    return {**made, "by_text": by_text, "by_proxies": by_proxies, "gain": gain.to_json()}


def derive_shares(
    rule: MixtureRule, languages: Sequence[str], texts: Texts, tokens: float
) -> dict[str, LanguageShare]:
    """The share of each language by its text, for a mixture of `tokens`."""
    counts, sizes = (np.array([texts[lang][part] for lang in languages]) for part in (0, 1))
    if not counts.sum():
        what = f"there is no text of {list_languages(languages)} to train on"
        raise UserError(what, where="train.mixture", hint="name languages that have text")
    content = np.maximum(sizes, 1.0) / [_premium(lang) for lang in languages]
    weights = counts * content ** (rule.power - 1.0)  # tokens that content**power takes
    shares = _rounded(capped_shares(weights, _caps(rule, counts), tokens))
    return {
        lang: {
            "bytes": round(size),
            "content": round(amount) if size else 0,
            "share": float(share),
            "epochs": float(share) * tokens / max(count, 1.0),
        }
        for lang, size, amount, share, count in zip(
            languages, sizes, content, shares, counts, strict=True
        )
    }


def proxy_mixtures(languages: Sequence[str], texts: Texts, count: int) -> list[dict[str, float]]:
    """Mixtures for small runs: equal amounts of content first, then ones drawn around that."""
    equal = derive_shares(MixtureRule(max_epochs="off"), languages, texts, 1.0)
    prior = np.array([equal[lang]["share"] for lang in languages])
    random = np.random.default_rng(derive_seed(1, "mixtures", *languages))
    weakest, strongest = np.log(_STRENGTHS)
    strengths = np.exp(random.uniform(weakest, strongest, (count, 1)))
    draws = random.standard_gamma(strengths * prior * len(languages)) + 1e-12
    tables = np.vstack([prior, (draws / draws.sum(1, keepdims=True))[1:]])
    tables[tables < _LEAST] = 0.0
    rounded = [_rounded(shares / shares.sum()) for shares in tables]
    return [
        {lang: float(share) for lang, share in zip(languages, shares, strict=True) if share}
        for shares in rounded
    ]


def _by_proxies(
    rule: MixtureRule, workspace: Path, by_text: Mapping[str, float], caps: np.ndarray
) -> tuple[np.ndarray, Estimate]:
    """The best shares by small runs, and by how much they are better than those by text."""
    where, languages = "train.mixture.runs", list(by_text)
    folder = workspace / "runs" / (rule.runs or "")
    others = [path.name for path in folder.parent.glob("*") if path.is_dir()]
    if not folder.is_dir():
        what, hint = f"there are no runs in {folder}", nearest(folder.name, others)
        raise UserError(what, where=where, hint=hint)
    last: dict[str, dict[str, Cells]] = {}
    for row in sorted(run_rows([folder]), key=lambda row: row["step"]):
        last.setdefault(row["run"], {})[row["lang"]] = row
    runs = [rows for rows in last.values() if rows.keys() >= set(languages)]
    mixtures = {tuple(rows[lang]["share"] for lang in languages) for rows in runs}
    if len(mixtures) < 2 * (len(languages) + 1):
        known = list_languages(languages)
        what = f"finished runs of {len(mixtures)} mixtures there have losses on {known}"
        hint = f"{3 * (len(languages) + 1)} are enough: a study with `mixtures`, `tongues study`"
        raise UserError(what, where=where, hint=hint)
    shares, losses = (
        np.array([[rows[lang][column] for lang in languages] for rows in runs])
        for column in ("share", "loss")
    )
    sizes = [(row["params"], row["tokens"]) for row in (rows[languages[0]] for rows in runs)]
    mean = losses.mean(0)
    for size in set(sizes):  # what size and length do is not the mixtures'
        alike = [other == size for other in sizes]
        losses[alike] += mean - losses[alike].mean(0)
    weights, prior = np.full(len(languages), 1 / len(languages)), np.array(list(by_text.values()))
    best = best_mixture(fit_mixtures(shares, losses), prior, caps, weights)
    return best, expected_gain(shares, losses, best, prior, weights)


def _caps(rule: MixtureRule, counts: np.ndarray) -> np.ndarray:
    """The most tokens that each language may take; without text, none."""
    if rule.max_epochs == "off":
        return np.where(counts > 0, math.inf, 0.0)
    return counts * rule.max_epochs


def _rounded(shares: np.ndarray) -> np.ndarray:
    """Multiples of a step that add up to 1, by the largest remainders; as read from `12.34%`."""
    steps = shares * _STEPS
    whole = np.floor(steps + 1e-9)
    rest = round(_STEPS - whole.sum())
    whole[np.argsort(-(steps - whole), kind="stable")[:rest]] += 1
    return whole / 100 / 100


def _premium(lang: str) -> float:
    """Bytes for the content of a byte of English; 1 for a synthetic language."""
    try:
        premium = byte_premium(find_language(lang)).value
    except UserError:
        return 1.0
    return 1.0 if math.isnan(premium) else premium
