"""What an evaluation found, in words: first what can be told apart, then everything by topic."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tongues.evaluate.significance import (
    Chance,
    Signs,
    signs_in_words,
)
from tongues.report.evaluation.cells import BITS, POINTS, Unit, bits, hundredths, said, share_said
from tongues.report.evaluation.found import (
    Found,
    difference,
    labels,
    measured,
    overall,
)
from tongues.report.words import with_stop

__all__ = ["findings", "forgotten_by", "lead", "policy_said"]

_TASKS = 3  # that the first lines speak of


def lead(found: Found) -> list[str]:
    """The first lines of the page: which models can be told apart on what, what was forgotten."""
    lines = [_standing(found, text, -1) for text in found["texts"]]
    lines += _forgotten_in_short(found)
    return lines + [_standing(found, task, 1) for task in list(found["tasks"])[:_TASKS]]


def findings(found: Found) -> dict[str, list[str]]:
    """All sentences by topic, of one model beside another; topics without any are left out."""
    topics = {
        "Losses": [line for text in found["texts"] for line in _losses(found, text)],
        "Forgotten": [
            with_stop(forgotten_by(found, text, one))
            for text, scores in found["texts"].items()
            for one in scores["forgotten"]
        ],
        "Tasks": [line for task in found["tasks"] for line in _answers(found, task)],
        "Caution": _cautions(found),
        "Left out": [with_stop(line) for line in found["left_out"]],
    }
    return {topic: lines for topic, lines in topics.items() if lines}


def forgotten_by(found: Found, text: str, one: Mapping[str, Any]) -> str:
    """On how many languages a model is worse than what it began with, and on which most."""
    names = labels(found)
    differences = {language: difference(of) for language, of in one["languages"].items()}
    worse = {language: of for language, of in differences.items() if of.told > 0}
    better = [language for language, of in differences.items() if of.told < 0]
    about = f"on `{text}`, `{names[one['model']]}` beside its seed `{names[one['other']]}`"
    level = len(differences) - len(worse) - len(better)
    if not worse and not better:
        return f"{_capital(about)}: the two cannot be told apart in any language"
    parts = []
    if worse:
        most = max(worse, key=lambda language: worse[language].mean)
        which = "" if len(worse) == 1 else "most "
        parts.append(
            f"worse in {_count(len(worse))} of {len(differences)}, {which}`{most}`, "
            f"{said(worse[most], BITS)}"
        )
    if better:
        parts.append(f"better in {_count(len(better))}")
    if level:
        parts.append(f"in {_count(level)} the two cannot be told apart")
    return f"{_capital(about)}: {'; '.join(parts)}"


def policy_said(found: Found) -> str:
    """How texts longer than a model's view were scored."""
    policy = found["policy"]
    window, stride = policy["window"], policy["stride"]
    if window is None:
        return "Long texts are cut into windows as long as a model sees; every token counts once."
    step = (
        "side by side"
        if stride in (None, window)
        else f"of which each scores {stride:,} further tokens"
    )
    return f"Long texts are scored in windows of {window:,} tokens, {step}."


def _losses(found: Found, text: str) -> Iterator[str]:
    scores, names = found["texts"][text], labels(found)
    for one in scores["compared"]:
        yield _compared(f"On `{text}`", one, names, BITS)


def _alone(found: Found, text: str) -> str:
    """What a text costs the only model."""
    ((model, by),) = found["texts"][text]["losses"].items()
    values = [of["bits_per_byte"]["value"] for of in by.values()]
    ends = " to ".join(bits(value) for value in sorted({min(values), max(values)}))
    return f"`{labels(found)[model]}` needs {ends} bits per byte of `{text}`."


def _answers(found: Found, task: str) -> Iterator[str]:
    scores, names = found["tasks"][task], labels(found)
    if scores["compared"]:
        yield _guessing(found, task)
    for one in scores["compared"]:
        yield _compared(f"In `{task}`", one, names, POINTS)


def _guessing(found: Found, task: str) -> str:
    """Which models can be told from chance, by their mean over languages."""
    scores, names = found["tasks"][task], labels(found)
    chance = Chance(**scores["chance"])
    by_side: dict[str, list[str]] = {}
    for model, kept in scores["mean"].items():
        mean = measured(kept)
        low, high = mean.low, mean.high
        side = "cannot be told from it"
        if low is not None and high is not None and low > chance.level:
            side = "above it"
        elif high is not None and high < chance.level:
            side = "below it"
        by_side.setdefault(side, []).append(f"`{names[model]}` ({share_said(mean.value)})")
    sides = "; ".join(f"{side}: {', '.join(models)}" for side, models in by_side.items())
    level = f"{share_said(chance.level)} ± {hundredths(chance.error)}"
    return f"In `{task}` chance is {level}; {sides}."


def _compared(where: str, one: Mapping[str, Any], names: Mapping[str, str], unit: Unit) -> str:
    """The mean and the count of languages, of one model beside another."""
    whole = said(overall(one), unit)
    several = len(one["languages"]) > 1
    count = f" in the mean; {signs_in_words(Signs(**one['signs']))}" if several else ""
    return with_stop(
        f"{where}, `{names[one['model']]}` beside `{names[one['other']]}`: {whole}{count}"
    )


def _standing(found: Found, what: str, good: int) -> str:
    """Which models are ahead of the first, behind it, or cannot be told apart from it.

    good: the sign of the difference that is an advantage.
    """
    scores = found["texts" if good < 0 else "tasks"][what]
    compared, names = scores["compared"], labels(found)
    if not compared:
        return _alone(found, what) if good < 0 else _guessing(found, what)
    by_sign: dict[int, list[str]] = {}
    for one in compared:
        by_sign.setdefault(good * overall(one).told, []).append(f"`{names[one['model']]}`")
    other = f"`{names[compared[0]['other']]}`"
    level = "cannot be told apart from"
    sides = {1: ("is ahead of", "are ahead of"), -1: ("is behind", "are behind"), 0: (level, level)}
    parts = [
        f"{_listed(by_sign[of])} {verbs[len(by_sign[of]) > 1]} {other}"
        for of, verbs in sides.items()
        if of in by_sign
    ]
    languages = len(compared[0]["languages"])
    mean = f" (mean of {languages} languages)" if languages > 1 else ""
    where = f"On `{what}`" if good < 0 else f"In `{what}`"
    return f"{where}{mean} {'; '.join(parts)}."


def _forgotten_in_short(found: Found) -> Iterator[str]:
    """A sentence a text: what was forgotten most."""
    names = labels(found)
    for text, scores in found["texts"].items():
        if not scores["forgotten"]:
            continue
        cells = [
            (difference(of), one, language)
            for one in scores["forgotten"]
            for language, of in one["languages"].items()
        ]
        worse = [cell for cell in cells if cell[0].told > 0]
        if not worse:
            yield f"Nothing can be told to have been forgotten of `{text}`."
            continue
        most, one, language = max(worse, key=lambda cell: cell[0].mean)
        model, seed = (names[one[name]] for name in ("model", "other"))
        yield (
            f"Forgotten most was `{language}` by `{model}`, beside its seed `{seed}`: the loss is "
            f"{said(most, BITS)}; {len(worse)} of {len(cells)} pairs of model and "
            "language became worse."
        )


def _cautions(found: Found) -> list[str]:
    lines = [caution for scores in found["texts"].values() for caution in scores["cautions"]]
    reasons = dict.fromkeys(_lacking(found))
    lines += [f"No interval where {reason}" for reason in reasons]
    sees = {about["context"] for about in found["models"]}
    if found["texts"] and found["policy"]["window"] is None and len(sees) > 1:
        lines.append(
            "The models see texts of unlike lengths at once, which is a part of their losses; "
            "`--window` makes it one length for all"
        )
    return [with_stop(line) for line in lines]


def _lacking(found: Found) -> Iterator[str]:
    """Why values have no interval."""
    for scores in found["texts"].values():
        for by in scores["losses"].values():
            yield from (
                lacking for of in by.values() if (lacking := of["bits_per_byte"]["lacking"])
            )
    for scores in found["tasks"].values():
        for by in scores["accuracies"].values():
            yield from (lacking for of in by.values() if (lacking := of["measured"]["lacking"]))


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _count(number: int) -> str:
    return f"{number} language{'' if number == 1 else 's'}"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
