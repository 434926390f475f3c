"""What an evaluation found, in words: what can be told apart, and what is to be known besides."""

from collections.abc import Iterator, Sequence

from tongues.evaluate.numbers import bits, guessed, share_said
from tongues.evaluate.shown import comparisons
from tongues.report.evaluation.found import Found, difference, labels, measured, overall
from tongues.report.words import with_stop
from tongues.significance import Chance, Measured, Signs, about_signs

__all__ = ["beside_chance", "findings", "lead", "policy_said"]

_TASKS = 3  # that the first lines speak of
_VERDICTS = {  # by the sign of the advantage
    1: "{0} {2} ahead of {1}",
    -1: "{0} {2} behind {1}",
    0: "{0} cannot be told apart from {1}",
}
_FEW = "there is too little to tell {0} from {1}"


def lead(found: Found) -> list[str]:
    """The first lines of the page: which models can be told apart on what, what was forgotten."""
    lines = [_standing(found, text, -1) for text in found["texts"]]
    lines += _forgotten_in_short(found)
    return lines + [_standing(found, task, 1) for task in list(found["tasks"])[:_TASKS]]


def findings(found: Found) -> dict[str, list[str]]:
    """What a reader must know besides the tables, by topic; topics without any are left out."""
    topics = {
        "To read": _reading(found),
        "Caution": _cautions(found),
        "Left out": [with_stop(line) for line in found["left_out"]],
    }
    return {topic: lines for topic, lines in topics.items() if lines}


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


def _alone(found: Found, text: str) -> str:
    """What a text costs the only model."""
    model, by = next(iter(found["texts"][text]["losses"].items()))  # seeds come after it
    values = [of["bits_per_byte"]["value"] for of in by.values()]
    ends = " to ".join(bits(value) for value in sorted({min(values), max(values)}))
    return f"`{labels(found)[model]}` needs {ends} bits per byte of `{text}`."


def beside_chance(found: Found, task: str) -> str:
    """Which models can be told from chance, by their mean over languages."""
    scores, names = found["tasks"][task], labels(found)
    chance = Chance(**scores["chance"])
    by_side: dict[str, list[str]] = {}
    for model, kept in scores["mean"].items():
        by_side.setdefault(_side(measured(kept), chance), []).append(f"`{names[model]}`")
    said = (f"{_listed(models)} {_verb(len(models))} {side}" for side, models in by_side.items())
    return f"By the mean, {'; '.join(said)}."


def _side(of: Measured, chance: Chance) -> str:
    """On which side of chance the interval lies."""
    if of.low is not None and of.low > chance.level:
        return "above chance"
    if of.high is not None and of.high < chance.level:
        return "below chance"
    return "not to be told from chance"


def _answered(found: Found, task: str) -> str:
    """What the only model that was asked for answers rightly."""
    scores, names = found["tasks"][task], labels(found)
    model, kept = next(iter(scores["mean"].items()))  # seeds come after it
    side = _side(measured(kept), Chance(**scores["chance"]))
    return (
        f"`{names[model]}` answers {share_said(kept['value'])} of `{task}` rightly, which is "
        f"{side} ({guessed(scores['chance'])})."
    )


def _standing(found: Found, what: str, good: int) -> str:
    """Which models are ahead of the first, behind it, or cannot be told apart from it.

    good: the sign of the difference that is an advantage.
    """
    scores = found["texts" if good < 0 else "tasks"][what]
    compared, names = scores["compared"], labels(found)
    if not compared:
        return _alone(found, what) if good < 0 else _answered(found, what)
    by_verdict: dict[str, list[str]] = {}
    for one in compared:
        of = overall(one)
        verdict = _VERDICTS[good * of.told] if of.told or not of.lacking else _FEW
        by_verdict.setdefault(verdict, []).append(f"`{names[one['model']]}`")
    other = f"`{names[compared[0]['other']]}`"
    parts = [
        verdict.format(_listed(by_verdict[verdict]), other, _verb(len(by_verdict[verdict])))
        for verdict in (*_VERDICTS.values(), _FEW)
        if verdict in by_verdict
    ]
    languages = len(compared[0]["languages"])
    mean = f" (mean of {languages} languages)" if languages > 1 else ""
    where = f"On `{what}`" if good < 0 else f"In `{what}`"
    return f"{where}{mean} {'; '.join(parts)}."


def _forgotten_in_short(found: Found) -> Iterator[str]:
    """A sentence a text: how often and where most a model became worse than its seed."""
    names = labels(found)
    for text, scores in found["texts"].items():
        cells = [
            (difference(of), one, language)
            for one in scores["forgotten"]
            for language, of in one["languages"].items()
        ]
        worse = [cell for cell in cells if cell[0].told > 0]
        if not cells:
            continue
        if not worse:
            few = all(of.lacking for of, _, _ in cells)
            none = "no loss can be told to be above the seed's in any language"
            yield f"Forgotten on `{text}`: {'too few documents to tell' if few else none}."
            continue
        _, one, language = max(worse, key=lambda cell: cell[0].mean)
        several = len(scores["forgotten"]) > 1
        pairs = "pairs of model and language" if several else "languages"
        by = f" by `{names[one['model']]}`"
        most = f", most in `{language}`{by if several else ''}" if len(cells) > 1 else ""
        yield (
            f"Forgotten on `{text}`: the loss{'' if several else f' of {by[4:]}'} is above the "
            f"seed's in {len(worse)} of {len(cells)} {pairs}{most}."
        )


def _reading(found: Found) -> list[str]:
    """How all tables are to be read."""
    kinds = {"documents": "texts", "items": "tasks"}
    over = " or ".join(name for name, kind in kinds.items() if found[kind])
    shots = any(scores["shots"] for scores in found["tasks"].values())
    draws = " and draws of demonstrations" if shots else ""
    lines = [f"In brackets stand 95 % intervals over {over}{draws}, each by itself."]
    if len(found["models"]) > 1:
        lines += [
            "A difference is told where luck does as much in fewer than 5 cases of 100, allowing "
            "for all languages and models of its table by Holm's rule; in grey the two cannot be "
            "told apart.",
            "Bold are the best of a language and all that cannot be told from it, allowing for all "
            "languages and pairs of models; where that is every model, none is.",
        ]
    return lines


def _cautions(found: Found) -> list[str]:
    lines = [caution for scores in found["texts"].values() for caution in scores["cautions"]]
    needed = dict.fromkeys(why.partition(", there are")[0] for why in _lacking(found) if why)
    lines += [f"Where it says too few, {'; '.join(needed)}"] if needed else []
    lines += [_capital(why) for why in about_signs(_signs(found))]
    sees = {about["context"] for about in found["models"]}
    if found["texts"] and found["policy"]["window"] is None and len(sees) > 1:
        lines.append(
            "The models see texts of unlike lengths at once, which is a part of their losses; "
            "`--window` makes it one length for all"
        )
    return [with_stop(line) for line in lines]


def _lacking(found: Found) -> Iterator[str]:
    """Why values have no interval, or why no difference of theirs could be told."""
    for scores in found["texts"].values():
        for by in scores["losses"].values():
            yield from (of["bits_per_byte"]["lacking"] or "" for of in by.values())
    for scores in found["tasks"].values():
        for by in scores["accuracies"].values():
            yield from (of["measured"]["lacking"] or "" for of in by.values())
    for one in comparisons(found):
        yield from (of["lacking"] or "" for of in (*one["languages"].values(), one["mean"]))


def _signs(found: Found) -> Iterator[Signs]:
    for one in comparisons(found):
        yield Signs(**one["signs"])


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _verb(models: int) -> str:
    return "is" if models == 1 else "are"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
