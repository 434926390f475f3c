"""What an evaluation found, in words: what can be told apart, and what is to be known besides."""

from collections.abc import Iterator, Sequence

from tongues.estimate import Estimate
from tongues.evaluate.evaluation import Evaluation
from tongues.evaluate.numbers import bits, guessed, share_said
from tongues.report.evaluation.names import labels
from tongues.report.words import with_stop
from tongues.significance import Chance, Signs, about_signs

__all__ = ["beside_chance", "findings", "lead", "policy_said"]

_TASKS = 3  # that the first lines speak of
_VERDICTS = {  # by the sign of the advantage
    1: "{0} {2} ahead of {1}",
    -1: "{0} {2} behind {1}",
    0: "{0} cannot be told apart from {1}",
}
_FEW = "there is too little to tell {0} from {1}"


def lead(evaluation: Evaluation) -> list[str]:
    """The first lines of the page: which models can be told apart on what, what was forgotten."""
    lines = [_standing(evaluation, text, -1) for text in evaluation.texts]
    lines += _forgotten_in_short(evaluation)
    return lines + [_standing(evaluation, task, 1) for task in list(evaluation.tasks)[:_TASKS]]


def findings(evaluation: Evaluation) -> dict[str, list[str]]:
    """What a reader must know besides the tables, by topic; topics without any are left out."""
    topics = {
        "To read": _reading(evaluation),
        "Caution": _cautions(evaluation),
        "Left out": [with_stop(line) for line in evaluation.left_out],
    }
    return {topic: lines for topic, lines in topics.items() if lines}


def policy_said(evaluation: Evaluation) -> str:
    """How texts longer than a model's view were scored."""
    policy = evaluation.policy
    window, stride = policy.window, policy.stride
    if window is None:
        return "Long texts are cut into windows as long as a model sees; every token counts once."
    step = (
        "side by side"
        if stride in (None, window)
        else f"of which each scores {stride:,} further tokens"
    )
    return f"Long texts are scored in windows of {window:,} tokens, {step}."


def _alone(evaluation: Evaluation, text: str) -> str:
    """What a text costs the only model."""
    model, by = next(iter(evaluation.texts[text].losses.items()))  # seeds come after it
    values = [of.bits_per_byte.value for of in by.values()]
    ends = " to ".join(bits(value) for value in sorted({min(values), max(values)}))
    return f"`{labels(evaluation)[model]}` needs {ends} bits per byte of `{text}`."


def beside_chance(evaluation: Evaluation, task: str) -> str:
    """Which models can be told from chance, by their mean over languages."""
    scores, names = evaluation.tasks[task], labels(evaluation)
    chance = scores.chance
    by_side: dict[str, list[str]] = {}
    for model, kept in scores.mean.items():
        by_side.setdefault(_side(kept, chance), []).append(f"`{names[model]}`")
    said = (f"{_listed(models)} {_verb(len(models))} {side}" for side, models in by_side.items())
    return f"By the mean, {'; '.join(said)}."


def _side(of: Estimate, chance: Chance) -> str:
    """On which side of chance the interval lies."""
    if of.low is not None and of.low > chance.level:
        return "above chance"
    if of.high is not None and of.high < chance.level:
        return "below chance"
    return "not to be told from chance"


def _answered(evaluation: Evaluation, task: str) -> str:
    """What the only model that was asked for answers rightly."""
    scores, names = evaluation.tasks[task], labels(evaluation)
    model, kept = next(iter(scores.mean.items()))  # seeds come after it
    side = _side(kept, scores.chance)
    return (
        f"`{names[model]}` answers {share_said(kept.value)} of `{task}` rightly, which is "
        f"{side} ({guessed(scores.chance)})."
    )


def _standing(evaluation: Evaluation, what: str, good: int) -> str:
    """Which models are ahead of the first, behind it, or cannot be told apart from it.

    good: the sign of the difference that is an advantage.
    """
    scores = evaluation.texts[what] if good < 0 else evaluation.tasks[what]
    compared, names = scores.compared, labels(evaluation)
    if not compared:
        return _alone(evaluation, what) if good < 0 else _answered(evaluation, what)
    by_verdict: dict[str, list[str]] = {}
    for one in compared:
        of = one.overall
        verdict = _VERDICTS[good * of.significant] if of.significant or not of.reason else _FEW
        by_verdict.setdefault(verdict, []).append(f"`{names[one.model]}`")
    other = f"`{names[compared[0].other]}`"
    parts = [
        verdict.format(_listed(by_verdict[verdict]), other, _verb(len(by_verdict[verdict])))
        for verdict in (*_VERDICTS.values(), _FEW)
        if verdict in by_verdict
    ]
    languages = len(compared[0].languages)
    mean = f" (mean of {languages} languages)" if languages > 1 else ""
    where = f"On `{what}`" if good < 0 else f"In `{what}`"
    return f"{where}{mean} {'; '.join(parts)}."


def _forgotten_in_short(evaluation: Evaluation) -> Iterator[str]:
    """A sentence a text: how often and where most a model became worse than its seed."""
    names = labels(evaluation)
    for text, scores in evaluation.texts.items():
        cells = [
            (of, one, language)
            for one in scores.forgotten
            for language, of in one.languages.items()
        ]
        worse = [cell for cell in cells if cell[0].significant > 0]
        if not cells:
            continue
        if not worse:
            few = all(of.reason for of, _, _ in cells)
            none = "no loss can be told to be above the seed's in any language"
            yield f"Forgotten on `{text}`: {'too few documents to tell' if few else none}."
            continue
        _, one, language = max(worse, key=lambda cell: cell[0].value)
        several = len(scores.forgotten) > 1
        pairs = "pairs of model and language" if several else "languages"
        by = f" by `{names[one.model]}`"
        most = f", most in `{language}`{by if several else ''}" if len(cells) > 1 else ""
        yield (
            f"Forgotten on `{text}`: the loss{'' if several else f' of {by[4:]}'} is above the "
            f"seed's in {len(worse)} of {len(cells)} {pairs}{most}."
        )


def _reading(evaluation: Evaluation) -> list[str]:
    """How all tables are to be read."""
    kinds = {"documents": evaluation.texts, "items": evaluation.tasks}
    over = " or ".join(name for name, kind in kinds.items() if kind)
    shots = any(scores.shots for scores in evaluation.tasks.values())
    draws = " and draws of demonstrations" if shots else ""
    lines = [f"In brackets stand 95 % intervals over {over}{draws}, each by itself."]
    if len(evaluation.models) > 1:
        lines += [
            "A difference is told where luck does as much in fewer than 5 cases of 100, allowing "
            "for all languages and models of its table by Holm's rule; in grey the two cannot be "
            "told apart.",
            "Bold are the best of a language and all that cannot be told from it, allowing for all "
            "languages and pairs of models; where that is every model, none is.",
        ]
    return lines


def _cautions(evaluation: Evaluation) -> list[str]:
    lines = [caution for scores in evaluation.texts.values() for caution in scores.cautions]
    needed = dict.fromkeys(why.partition(", there are")[0] for why in _lacking(evaluation) if why)
    lines += [f"Where it says too few, {'; '.join(needed)}"] if needed else []
    lines += [_capital(why) for why in about_signs(_signs(evaluation))]
    sees = {about.context for about in evaluation.models}
    if evaluation.texts and evaluation.policy.window is None and len(sees) > 1:
        lines.append(
            "The models see texts of unlike lengths at once, which is a part of their losses; "
            "`--window` makes it one length for all"
        )
    return [with_stop(line) for line in lines]


def _lacking(evaluation: Evaluation) -> Iterator[str]:
    """Why values have no interval, or why no difference of theirs could be told."""
    for scores in evaluation.texts.values():
        for by in scores.losses.values():
            yield from (of.bits_per_byte.reason for of in by.values())
    for scores in evaluation.tasks.values():
        for by in scores.accuracies.values():
            yield from (of.share.reason for of in by.values())
    for one in evaluation.comparisons:
        yield from (of.reason for of in (*one.languages.values(), one.overall))


def _signs(evaluation: Evaluation) -> Iterator[Signs]:
    for one in evaluation.comparisons:
        yield one.signs


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _verb(models: int) -> str:
    return "is" if models == 1 else "are"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
