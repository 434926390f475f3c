"""The words of a plan: its table, the answer in a few lines, and what it rests on.

Every sentence is a template here; what is true is decided elsewhere.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from tongues.core.estimate import Estimate
from tongues.core.pages import fixed, number
from tongues.core.pages.numbers import minus
from tongues.core.quantities import show_bytes, show_count
from tongues.core.roles import list_languages
from tongues.languages.catalogue import find_language
from tongues.plan.budget import FEW_STEPS, FORWARD_AND_BACKWARD
from tongues.plan.decide import Decision
from tongues.plan.options import LEAST_READ, LeftOut, Option
from tongues.plan.outlook import LAW, Outlook
from tongues.plan.own_laws import OwnLaws
from tongues.plan.planner import KEEPS
from tongues.plan.question import Question, Target
from tongues.text.tokens.fertility import TokenizerTrial

_DECISIONS = {
    "continue": "Continue {name}{language}: {spent}.",
    "measure": "Measure {name}{language} first, as it knows the language; if it is weak there, "
    "continue it: {spent}.",
    "scratch": "Train a model from scratch{language}: {params} parameters, {spent}.",
    "experts": "Train {name}{language}: {spent}.",
    "either": "Own laws do not decide; first is {name}{language}: {spent}.",
}
_BASE = "base: {name}, {licence}, of {released}."
_GATED = "base: {name}, {licence}, gated, of {released}."
_OF_FOLDER = "base: {name}, {licence}."
_KEEP = {
    "suits": "tokenizer: keep it{whose}; a token has {before} bytes.",
    "too_short": "tokenizer: keep it{whose}; a token has {before} bytes, "
    "and new tokens would be read too seldom.",
    "unknown": "tokenizer: keep it; no bytes per token are known, so text counts as given.",
}
_EXTEND = (
    "tokenizer: extend it by {count} tokens{whose}: {before} → {after} bytes a token, {saved} "
    "fewer to read."
)
_NEW_ROWS = (
    "new tokens: {rows} weights to learn, {read} training tokens for each; 10k were too few once."
)
_TRAINING = "training: {method}{memory}; batches of {batch} tokens, peak rate {rate}{caution}."
_LOSS = {
    "measured": "loss: {before:.2f} before, {after} {unit} after.",
    "unmeasured": "loss: {after} {unit} after, on clean sentences; name the base's folder and your "
    "text to know it before.",
    "large": "loss: no law here was fitted on models of {params} parameters.",
    "short": "loss: no forecast below {least} tokens of a language; train it and look.",
    "unknown": "loss: no forecast without `--language` or a law of your own.",
}
_EACH = "by language: {each}."
_RISE = "forgetting: loss on the base's languages {rise}{kept}."
_KEPT = "; within {limit:g}% with a probability of about {kept:.0%}"
_NO_PROMISE = "forgetting: no share of replay keeps {limit:g}% with a probability of {likely:.0%}."
_TEXT = "text: {text}{tokens}, read {epochs} times{ends}."
_TEXT_ENDS = ". More gains next to nothing; {left:.0%} of the budget is left"
_ENOUGH = ". More gains next to nothing"
_MUCH_LEFT = 0.1  # of the budget, from where that is said; chosen
_COUNTED = {
    "own": " are {count} tokens",
    "base": " are {count} tokens of the base",
    "new": " are {count} tokens of the base ({new} with the new ones)",
}
_MORE_TEXT = "more text: {sources}; sources overlap."
_CHAT = (
    "instructions: {named} is an instruction model; continue its base, then `tongues export "
    "--add-chat {named}`."
)
_ASSUMED = "assumed: {mfu:.0%} of the GPUs' peak speed; {price:.2f} US$ an hour each ({priced})."
_LEFT_OUT = "left out: {name}: {reason}."
_RULE = "rule: continue where a base fits; from scratch where none does, or where own laws say so."
_RIVAL = "rival: {rival} ends lower with a probability of {unlikely:.0%}."
_LEVEL = (
    "language: 125M parameters on {text} of {name} are forecast to end at {loss} bits per byte; it "
    "rests on {rests}."
)
_LAW = "law: losses follow {law} at that level; a base counts as having read some of the language."
_REPLAY = "replay: {share:.0%} of all tokens, {why}."
_BEYOND = "beyond: {name} is {times:.2g} times outside of its law's runs in {what}."
_FIRST, _LISTED = 2, 6  # options left out that are named; chosen
# Of a plan that is written as a recipe.
_ADDED = (
    "tokenizer: it falls back to bytes for `{language}` ({before:.2f} bytes a token), so the "
    "recipe adds {count:,} tokens."
)
_UNFIT = "caution: `{language}`: {why}; `byte_fallback` allows it."
_FEW_STEPS = "caution: fewer than {fewest} steps teach little: give a larger budget."
WRITTEN = "Written before any training: `tongues report` shows it next to what came of it."
_UNCHANGED = 0.003  # of a loss
_TWO = fixed(2)


def rows(
    options: Sequence[Option], decision: Decision, unit: str, languages: int
) -> list[dict[str, str]]:
    """A row of text an option; columns that no option fills are left out."""
    mark = "→" if decision.decided else "?"
    loss = f"{unit} (mean)" if languages > 1 else unit
    made = [
        {
            "": mark if option is decision.option else " ",
            "option": option.name,
            "parameters": show_count(option.params),
            "tokens": show_count(option.tokens),
            "epochs": "" if option.epochs is None else f"{option.epochs:,.2g}",
            "replay": f"{option.replay:.0%}" if option.base else "",
            "hours": _amount(option.hours),
            "US$": _amount(option.cost),
            "FLOPs": "" if option.hours else f"{option.flops:.2g}",
            "trained": option.method.name,
            loss: _shown(option.loss),
        }
        for option in options
    ]
    names = [name for name in made[0] if any(row[name] for row in made)]
    return [{name: row[name] for name in names} for row in made]


def answer_lines(
    question: Question, decision: Decision, unit: str, left_out: Sequence[LeftOut]
) -> list[str]:
    """The decision, and what it takes and gives: at most a dozen sentences."""
    option, base, cluster = decision.option, decision.option.base, question.cluster
    lines = [_decision(question, decision)]
    if base and base.licence:
        template = _GATED if base.gated else _BASE if base.released else _OF_FOLDER
        named = {"name": base.short, "licence": base.licence, "released": base.released}
        lines.append(template.format(**named))
    lines += _tokenizer(option)
    lines += _training(option)
    lines += _loss(question, option, unit)
    lines += _forgetting(question, option)
    lines += _text(question, option)
    if base and base.asked:
        lines.append(_CHAT.format(named=base.asked))
    if cluster:
        priced = cluster.gpu.priced if cluster.price == cluster.gpu.price else "as given"
        lines.append(_ASSUMED.format(mfu=cluster.mfu, price=cluster.price, priced=priced))
    return lines + [_LEFT_OUT.format(name=x.name, reason=x.reason) for x in left_out[:_FIRST]]


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
        unlikely = 1.0 - decision.likely
        lines.append(_RIVAL.format(rival=decision.rival.name, unlikely=unlikely))
    for one in outlooks.values():
        rests, shown = "; ".join(one.forecast.rests_on), _shown(one.forecast.loss)
        text = show_bytes(one.text_bytes)
        lines.append(_LEVEL.format(text=text, name=one.name, loss=shown, rests=rests))
    if outlooks:
        lines.append(_LAW.format(law=LAW))
    if option.rise:
        why = "as asked" if question.replay is not None else "the median of published projects"
        if question.replay is None and question.max_forgetting is not None:
            why = f"the least that keeps the limit, by {option.rise.method or 'own runs'}"
        lines.append(_REPLAY.format(share=option.replay, why=why))
    for one in options:
        times, what = laws.beyond(one.role, one.params, (1.0 - one.replay) * one.tokens)
        if times > 1.0:
            lines.append(_BEYOND.format(name=one.name, times=times, what=what))
    others = left_out[_FIRST:_LISTED]
    return lines + [_LEFT_OUT.format(name=one.name, reason=one.reason) for one in others]


def draft_lines(option: Option, language: str, trial: TokenizerTrial | None) -> Iterator[str]:
    """What a recipe of a plan adds to it; trial: of the base's tokenizer on the text."""
    if trial and trial.new_tokens:
        yield _ADDED.format(language=language, before=trial.base, count=trial.new_tokens)
    for lang, caution in trial.unfit.items() if trial else ():
        yield _UNFIT.format(language=lang, why=caution.sentence)
    if option.batch and option.tokens / option.batch < FEW_STEPS:
        yield _FEW_STEPS.format(fewest=FEW_STEPS)


def _decision(question: Question, decision: Decision) -> str:
    option, cluster = decision.option, question.cluster
    spent = [f"{show_count(option.tokens)} tokens"]
    if option.replay:
        spent.append(f"{option.replay:.0%} of them replay")
    if cluster:
        spent.append(f"{_amount(option.hours)} hours on {cluster.count} {cluster.gpu.name}")
        spent.append(f"{_amount(option.cost)} US$")
    listed = list_languages(find_language(tag).name for tag in question.languages)
    return _DECISIONS[decision.code].format(
        name=option.name,
        language=f" on {listed}" if listed else "",
        params=show_count(option.params),
        spent=", ".join(spent),
    )


def _tokenizer(option: Option) -> Iterator[str]:
    several, kept = len(option.vocabularies) > 1, dict[str, list[str]]()
    for language, one in option.vocabularies.items():
        before = f"{one.before.value:.2f}"
        if not one.new_tokens:
            sure = "" if "measured" in one.before.method else f" {_ends(one.before)}"
            size = f"{before}{sure} ({language})" if several else before + sure
            kept.setdefault(one.reason, []).append(size)
            continue
        yield _EXTEND.format(
            count=f"{one.new_tokens:,}",
            whose=f" for {language}" if several else "",
            before=before,
            after=f"{one.after.value:.2f}",
            saved=f"{one.saved:.0%}",
        )
        if one.rows:
            read = show_count(option.parts[language] / one.new_tokens)
            yield _NEW_ROWS.format(rows=show_count(one.rows), read=read)
    whose = " for the others" if option.new_tokens else ""
    yield from (_KEEP[why].format(before=", ".join(of), whose=whose) for why, of in kept.items())


def _training(option: Option) -> Iterator[str]:
    method, memory = option.method, option.method.memory
    if option.batch and option.rate:
        yield _TRAINING.format(
            method=method.name,
            memory=f" in {show_bytes(memory)} a GPU" if memory else "",
            batch=show_count(option.batch),
            rate=f"{option.rate:.1e}".replace("e-0", "e-"),
            caution=f". {method.caution}" if method.caution else "",
        )


def _loss(question: Question, option: Option, unit: str) -> Iterator[str]:
    before = question.losses.get(option.model.name)
    if option.loss is None:
        code = "short" if min(option.parts.values()) < LEAST_READ else "large"
        code = code if question.languages else "unknown"
    else:
        code = "unmeasured" if before is None else "measured"
    if option.loss is None or (option.base and (before or unit != "loss")):
        yield _LOSS[code].format(
            before=before,
            after=_shown(option.loss),
            unit=unit,
            params=show_count(option.params),
            least=show_count(LEAST_READ),
        )
    if len(option.losses) > 1:
        each = ", ".join(f"{language} {_shown(one)}" for language, one in option.losses.items())
        yield _EACH.format(each=each)


def _forgetting(question: Question, option: Option) -> Iterator[str]:
    if option.rise is None:
        return
    if question.max_forgetting is None or option.kept is None:
        yield _RISE.format(rise=_percent(option.rise), kept="")
        return
    limit = 100.0 * question.max_forgetting
    kept = _KEPT.format(limit=limit, kept=option.kept)
    yield _RISE.format(rise=_percent(option.rise), kept=kept)
    if question.replay is None and option.kept < KEEPS:
        yield _NO_PROMISE.format(limit=limit, likely=KEEPS)


def _percent(rise: Estimate) -> str:
    shown = f"changes by {minus(f'{rise.value:+.1%}')}"
    if abs(rise.value) < _UNCHANGED:
        shown = "stays about the same"
    if rise.low is None or rise.high is None:
        return shown
    return shown + minus(f" [{100 * rise.low:+.0f}, {100 * rise.high:+.0f}] %")


def _text(question: Question, option: Option) -> Iterator[str]:
    if option.epochs is None:
        return
    text, ends = ", ".join(filter(None, map(_size, question.targets))), ""
    if option.limit == "text":
        work = FORWARD_AND_BACKWARD * option.method.work
        paid = question.budget.tokens(option.met, question.cluster, work)
        left = 1.0 - option.tokens / paid
        ended = _ENOUGH if question.usual else _TEXT_ENDS.format(left=left)
        ends = ended if left > _MUCH_LEFT else ""
    several = len(option.targets) > 1
    counts = {"count": show_count(question.unique(option.base)), "new": show_count(option.text)}
    code = "own" if option.base is None else "new" if option.new_tokens and not several else "base"
    counted = any(target.tokens is not None for target in question.targets)
    yield _TEXT.format(
        text=text,
        tokens="" if counted else _COUNTED[code].format(**counts),
        epochs=f"up to {option.epochs:.2g}" if several else f"{option.epochs:.2g}",
        ends=ends,
    )
    target = question.targets[0]
    known = find_language(target.language).texts if target.language else ()
    more = [one for one in known if one.bytes > 1.2 * target.text and "," not in one.source]
    if more and option.limit == "text":
        sources = ", ".join(f"{one.source} has {show_bytes(one.bytes)}" for one in more[:3])
        yield _MORE_TEXT.format(sources=sources)


def _size(target: Target) -> str:
    if target.tokens is not None:
        return f"{show_count(target.tokens)} tokens"
    return show_bytes(target.text) if math.isfinite(target.text) else ""


def _shown(loss: Estimate | None) -> str:
    return number(loss, _TWO) if loss else ""


def _ends(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "(assumed)"
    return f"[{estimate.low:.2f}, {estimate.high:.2f}]"


def _amount(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
