"""The words of a plan: its table, the answer in a few lines, and what it rests on.

Every sentence is a template here; what is true is decided elsewhere.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from tongues.estimate import Estimate
from tongues.languages.catalogue import find_language
from tongues.languages.donors import rank_donors
from tongues.pages import fixed, number
from tongues.pages.numbers import minus
from tongues.plan.budget import FORWARD_AND_BACKWARD
from tongues.plan.decide import Decision
from tongues.plan.options import KEEPS, LeftOut, Option
from tongues.plan.outlook import LAW, Outlook
from tongues.plan.own_laws import OwnLaws
from tongues.plan.published import nearest_projects
from tongues.plan.question import Question, Target
from tongues.plan.ways import LEAST_READ
from tongues.quantities import show_bytes, show_count

_DECISIONS = {
    "continue": "Continue {name}{language}: {spent}.",
    "measure": "Measure {name}{language} first, as it knows the language; if it is weak there, "
    "continue it: {spent}.",
    "scratch": "Train a model from scratch{language}: {params} parameters, {spent}.",
    "experts": "Train {name}{language}: {spent}.",
    "either": "Own laws do not decide; first is {name}{language}: {spent}.",
}
_KEEP = {
    "suits": "tokenizer: keep it; a token has {before} bytes{measured}.",
    "too_short": "tokenizer: keep it; a token has {before} bytes{measured}, "
    "and new tokens would be read too seldom.",
    "unknown": "tokenizer: keep it; no bytes per token are known, so text counts as given.",
}
_EXTEND = (
    "tokenizer: extend it by {count} tokens: {before} → {after} bytes a token, {saved} fewer to "
    "read."
)
_NEW_ROWS = (
    "new tokens: {rows} weights to learn, {read} training tokens for each; 10k were too few once."
)
_TRAINING = "training: {method}{memory}; batches of {batch} tokens, peak rate {rate}{caution}."
_AFTER = "loss: {after} {unit} after training{text}."
_UNMEASURED = "before: not known; name the base's folder and a file of your text to measure it."
_NO_LOSS = {
    "large": "loss: no law here was fitted on models of {params} parameters.",
    "short": "loss: no forecast below {least} tokens of a language; train it and look.",
    "unknown": "loss: no forecast without `--language` or a law of your own.",
}
_RISE = "forgetting: loss on the base's languages {rise}{kept}."
_NO_PROMISE = "forgetting: no share of replay keeps {limit} with a probability of {likely}."
_TEXT = "text: {text}{tokens}, read {epochs} times{ends}."
_TEXT_ENDS = ", more gains next to nothing; {left} of the budget is left"
_MORE_TEXT = "more text: {sources}; they overlap."
_ASSUMED = "assumed: {mfu} of the GPUs' peak speed; {price} US$ an hour each ({priced})."
_CHAT = (
    "instructions: {named} is an instruction model; continue its base, then `tongues export "
    "--add-chat {named}`."
)
_LEVEL = (
    "language: 125M parameters on {text} of {name} are forecast to end at {loss} bits per byte; it "
    "rests on {rests}."
)
_LAW = "law: losses follow {law} at that level; a base counts as having read some of the language."
_RULE = "rule: continue where a base fits; from scratch where none does, or where own laws say so."
_PROJECT = "published: {project}."
_DONORS = "donors: the nearest languages that {name} may gain from are {donors}."
_LEFT_OUT = "left out: {name}: {reason}."
_BEYOND = "beyond: {name} is {times} times outside of its law's runs in {what}."
_BASE = "base: {name}, {licence}{gated}, of {released}."
_RIVAL = "rival: {rival} ends lower with a probability of {unlikely}."
_REPLAY = "replay: {share} of all tokens, {why}."
_PROJECTS, _LISTED = 3, 6
_UNCHANGED = 0.003  # of a loss
_TWO = fixed(2)


def rows(
    options: Sequence[Option], decision: Decision, unit: str, languages: int
) -> list[dict[str, str]]:
    """A row of text an option; columns that no option fills are left out."""
    mark = "→" if decision.decided else "?"
    made = [
        {
            "": mark if option is decision.option else " ",
            "option": option.name,
            "parameters": show_count(option.params),
            "tokens": show_count(option.tokens),
            "epochs": "" if option.epochs is None else f"{option.epochs:,.2g}",
            "replay": f"{option.replay:.0%}" if option.kind == "continue" else "",
            "hours": _amount(option.hours),
            "US$": _amount(option.cost),
            "FLOPs": "" if option.hours else f"{option.flops:.2g}",
            "trained": option.method.name,
            f"{unit}{' (mean)' * (languages > 1)}": number(option.loss, _TWO)
            if option.loss
            else "",
        }
        for option in options
    ]
    names = [name for name in made[0] if any(row[name] for row in made)]
    return [{name: row[name] for name in names} for row in made]


def answer_lines(
    question: Question, decision: Decision, unit: str, left_out: Sequence[LeftOut]
) -> list[str]:
    """The decision, and what it takes and gives: at most a dozen sentences."""
    option = decision.option
    lines = [_decision(question, decision)]
    if (base := option.base) and base.licence:
        gated = ", gated" * base.gated
        named = {"name": base.short, "licence": base.licence, "released": base.released or "?"}
        lines.append(_BASE.format(gated=gated, **named))
    lines += _tokenizer(option)
    if option.kind == "continue" and option.batch and option.rate:
        lines.append(_training(option))
    lines += _loss(question, option, unit)
    lines += _forgetting(question, option)
    lines += _text(question, option)
    if base and base.asked:
        lines.append(_CHAT.format(named=base.asked))
    if cluster := question.cluster:
        priced = cluster.gpu.priced if cluster.price == cluster.gpu.price else "as given"
        price = f"{cluster.price:.2f}"
        lines.append(_ASSUMED.format(mfu=f"{cluster.mfu:.0%}", price=price, priced=priced))
    return lines + [_LEFT_OUT.format(name=one.name, reason=one.reason) for one in left_out[:2]]


def reason_lines(
    question: Question,
    decision: Decision,
    options: Sequence[Option],
    left_out: Sequence[LeftOut],
    outlooks: Mapping[str, Outlook],
    laws: OwnLaws,
) -> list[str]:
    """What the answer rests on, and what was left out."""
    option, lines = decision.option, [_RULE]
    if decision.rival and decision.likely is not None:
        unlikely = f"{1.0 - decision.likely:.0%}"
        lines.append(_RIVAL.format(rival=decision.rival.name, unlikely=unlikely))
    for one in () if laws else outlooks.values():
        rests = "; ".join(one.forecast.rests_on)
        shown = number(one.forecast.loss, _TWO)
        text = show_bytes(one.text_bytes)
        lines.append(_LEVEL.format(text=text, name=one.name, loss=shown, rests=rests))
    if outlooks and not laws:
        lines.append(_LAW.format(law=LAW))
    if option.rise:
        why = "as asked" if question.replay is not None else "the median of published projects"
        if question.replay is None and question.max_forgetting is not None:
            why = f"the least that keeps the limit, by {option.rise.method or 'own runs'}"
        lines.append(_REPLAY.format(share=f"{option.replay:.0%}", why=why))
    for one in options:
        learned = (1.0 - one.replay) * one.tokens
        times, what = laws.beyond(
            "cpt" if one.kind == "continue" else one.kind, one.params, learned
        )
        if times > 1.0:
            lines.append(_BEYOND.format(name=one.name, times=f"{times:.2g}", what=what))
    if option.kind == "continue":
        near = nearest_projects(option.params, option.tokens)[:_PROJECTS]
        lines += [_PROJECT.format(project=project) for project in near]
    lines += [_donors(language) for language in question.languages[:1]]
    return lines + [
        _LEFT_OUT.format(name=one.name, reason=one.reason) for one in left_out[2:_LISTED]
    ]


def _shown(loss: Estimate | None) -> str:
    return number(loss, _TWO) if loss else ""


def _decision(question: Question, decision: Decision) -> str:
    option, cluster = decision.option, question.cluster
    spent = f"{show_count(option.tokens)} tokens"
    if option.replay:
        spent += f", {option.replay:.0%} of them replay"
    if cluster and option.hours is not None and option.cost is not None:
        spent += f", {_amount(option.hours)} hours on {cluster.count} {cluster.gpu.name}"
        spent += f", {_amount(option.cost)} US$"
    names = [find_language(tag).name for tag in question.languages]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""
    return _DECISIONS[decision.code].format(
        name=option.name,
        language=f" on {listed}" if listed else "",
        params=show_count(option.params),
        spent=spent,
    )


def _tokenizer(option: Option) -> Iterator[str]:
    several = len(option.vocabularies) > 1
    for language, one in option.vocabularies.items():
        before = f"{one.before.value:.2f}"
        whose = f" ({language})" * several
        if not one.new_tokens:
            measured = "" if "measured" in one.before.method else f" {_ends(one.before)}"
            line = _KEEP[one.reason].format(before=before, measured=measured)
            yield line.replace("tokenizer:", f"tokenizer{whose}:")
            continue
        after, saved = f"{one.after.value:.2f}", f"{one.saved:.0%}"
        count = f"{one.new_tokens:,}"
        line = _EXTEND.format(count=count, before=before, after=after, saved=saved)
        yield line.replace("tokenizer:", f"tokenizer{whose}:")
        if one.rows and not several:
            read = show_count((1.0 - option.replay) * option.tokens / one.new_tokens)
            yield _NEW_ROWS.format(rows=show_count(one.rows), read=read)


def _training(option: Option) -> str:
    method, memory = option.method, option.method.memory
    return _TRAINING.format(
        method=method.name,
        memory=f" in {show_bytes(memory)} a GPU" if memory else "",
        batch=show_count(option.batch or 0.0),
        rate=f"{option.rate:.1e}".replace("e-0", "e-"),
        caution=f"; {method.caution}" if method.caution else "",
    )


def _loss(question: Question, option: Option, unit: str) -> Iterator[str]:
    if option.loss is None:
        code = "short" if min(option.parts.values()) < LEAST_READ else "large"
        code = code if question.languages else "unknown"
        least = show_count(LEAST_READ)
        yield _NO_LOSS[code].format(params=show_count(option.params), least=least)
        return
    own = question.losses.get(option.base.name if option.base else "")
    if option.kind == "continue":
        text = " on clean sentences" * (unit != "loss") if own is None else f", {own:.2f} before"
        yield _AFTER.format(
            after=number(option.loss, _TWO) if option.loss else "", unit=unit, text=text
        )
    if option.kind == "continue" and own is None and unit != "loss" and option.limit != "loss":
        yield _UNMEASURED
    if len(option.losses) > 1:
        each = ", ".join(f"{lang} {number(one, _TWO)}" for lang, one in option.losses.items())
        yield f"by language: {each}."


def _forgetting(question: Question, option: Option) -> Iterator[str]:
    if option.rise is None:
        return
    limit, kept = question.max_forgetting, ""
    if limit is not None and option.kept is not None:
        kept = f"; within {100.0 * limit:g}% with a probability of about {option.kept:.0%}"
    yield _RISE.format(rise=_percent(option.rise), kept=kept)
    asked = question.replay is None and limit is not None and option.kept is not None
    if asked and (option.kept or 0.0) < KEEPS:
        yield _NO_PROMISE.format(limit=f"{100.0 * (limit or 0.0):g}%", likely=f"{KEEPS:.0%}")


def _percent(rise: Estimate) -> str:
    shown = f"changes by {minus(f'{rise.value:+.1%}')}"
    if abs(rise.value) < _UNCHANGED:
        shown = "stays about the same"
    if rise.low is None or rise.high is None:
        return shown
    return shown + minus(f" [{100 * rise.low:+.0f}, {100 * rise.high:+.0f}]")


def _text(question: Question, option: Option) -> Iterator[str]:
    if option.epochs is None:
        return
    text, ends, budget = ", ".join(filter(None, map(_size, question.targets))), "", question.budget
    if option.limit == "text" and budget is not None:
        work = FORWARD_AND_BACKWARD * option.method.work
        each = option.flops / (work * option.tokens)
        left = 1.0 - option.tokens / budget.tokens(each, question.cluster, work)
        ends = _TEXT_ENDS.format(left=f"{left:.0%}") if left > 0.1 else ""
    counted = ""
    if all(target.tokens is None for target in question.targets):
        tokens = show_count(question.unique(option.base))
        counted = f" are {tokens} tokens{' of the base' * (option.base is not None)}"
        if option.new_tokens and option.epochs:
            after = sum(option.parts.values()) / option.epochs
            counted += f" ({show_count(after)} with the new ones)" * (len(option.parts) == 1)
    epochs = f"{'up to ' * (len(option.parts) > 1)}{option.epochs:.2g}"
    yield _TEXT.format(text=text, tokens=counted, epochs=epochs, ends=ends)
    for target in question.targets[:1]:
        known = find_language(target.language).texts if target.language else ()
        more = [one for one in known if one.bytes > 1.2 * target.text and "," not in one.source]
        if more and option.limit == "text":
            sources = ", ".join(f"{one.source} has {show_bytes(one.bytes)}" for one in more[:3])
            yield _MORE_TEXT.format(sources=sources)


def _size(target: Target) -> str:
    if target.tokens is not None:
        return f"{show_count(target.tokens)} tokens"
    return show_bytes(target.text) if math.isfinite(target.text) else ""


def _donors(language: str) -> str:
    one = find_language(language)
    first = rank_donors(one, count=3)
    listed = ", ".join(f"{of.language.name} (`{of.language.tag}`)" for of in first)
    return _DONORS.format(name=one.name, donors=listed)


def _ends(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "(assumed)"
    return f"[{estimate.low:.2f}, {estimate.high:.2f}]"


def _amount(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
