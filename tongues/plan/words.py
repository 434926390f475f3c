"""The words of a plan: its table, the answer in a few lines, and what it rests on.

Every sentence is a template here; what is true is decided elsewhere.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tongues.core.beside import read_beside
from tongues.core.estimate import Estimate
from tongues.core.pages import fixed, number
from tongues.core.pages.numbers import minus
from tongues.core.quantities import show_bytes, show_count
from tongues.core.roles import list_languages
from tongues.languages.catalogue import find_language
from tongues.plan.budget import FEW_STEPS
from tongues.plan.decide import Decision
from tongues.plan.options import LEAST_READ, LeftOut, Option
from tongues.plan.outlook import LAW, Outlook
from tongues.plan.own_laws import OwnLaws
from tongues.plan.planner import KEEPS
from tongues.plan.question import Question, Target
from tongues.text.tokens.fertility import TokenizerTrial

_SAID: dict[str, Any] = read_beside(__file__)

_FAR = 10.0  # times outside of a law's runs, from where the answer says so; chosen
_MUCH_LEFT = 0.1  # of the budget, from where that is said; chosen
_FIRST, _LISTED = 2, 6  # options left out that are named; chosen
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
    question: Question, decision: Decision, unit: str, left_out: Sequence[LeftOut], laws: OwnLaws
) -> list[str]:
    """The decision, and what it takes and gives: at most a dozen sentences."""
    option, base, cluster = decision.option, decision.option.base, question.cluster
    lines = [_decision(question, decision)]
    if base and base.licence:
        code = "gated" if base.gated else "base" if base.released else "of_folder"
        named = {"name": base.short, "licence": base.licence, "released": base.released}
        lines.append(_SAID[code].format(**named))
    lines += _tokenizer(option)
    lines += _training(option)
    lines += _loss(question, option, unit)
    lines += _forgetting(question, option)
    lines += _text(question, option)
    lines += _beyond([option], laws, _FAR)
    if base and base.asked:
        lines.append(_SAID["chat"].format(named=base.asked))
    if cluster:
        priced = cluster.gpu.priced if cluster.price == cluster.gpu.price else "as given"
        lines.append(_SAID["assumed"].format(mfu=cluster.mfu, price=cluster.price, priced=priced))
    return lines + [
        _SAID["left_out"].format(name=x.name, reason=x.reason) for x in left_out[:_FIRST]
    ]


def reason_lines(
    question: Question,
    decision: Decision,
    options: Sequence[Option],
    left_out: Sequence[LeftOut],
    outlooks: Mapping[str, Outlook],
    laws: OwnLaws,
) -> list[str]:
    """What the answer rests on, and what was left out."""
    option, lines = decision.option, [_SAID["rule"]]
    if decision.rival and decision.likely is not None:
        unlikely = 1.0 - decision.likely
        lines.append(_SAID["rival"].format(rival=decision.rival.name, unlikely=unlikely))
    for one in outlooks.values():
        rests, shown = "; ".join(one.forecast.rests_on), _shown(one.forecast.loss)
        text = show_bytes(one.text_bytes)
        lines.append(_SAID["level"].format(text=text, name=one.name, loss=shown, rests=rests))
    if outlooks:
        lines.append(_SAID["law"].format(law=LAW))
    if option.rise:
        why = "as asked" if question.replay is not None else "the median of published projects"
        if question.replay is None and question.max_forgetting is not None:
            why = f"the least that keeps the limit, by {option.rise.method or 'own runs'}"
        lines.append(_SAID["replay"].format(share=option.replay, why=why))
    lines += _beyond(options, laws)
    others = left_out[_FIRST:_LISTED]
    return lines + [_SAID["left_out"].format(name=one.name, reason=one.reason) for one in others]


def _beyond(options: Sequence[Option], laws: OwnLaws, least: float = 1.0) -> Iterator[str]:
    """What is farther outside of a law's runs than `least` times."""
    for one in options:
        times, what = laws.beyond(one.role, one.params, (1.0 - one.replay) * one.tokens)
        if times > least:
            yield _SAID["beyond"].format(name=one.name, times=times, what=what)


def draft_lines(option: Option, language: str, trial: TokenizerTrial | None) -> Iterator[str]:
    """What a recipe of a plan adds to it; trial: of the base's tokenizer on the text."""
    if trial and trial.new_tokens:
        yield _SAID["added"].format(language=language, before=trial.base, count=trial.new_tokens)
    for lang, caution in trial.unfit.items() if trial else ():
        yield _SAID["unfit"].format(language=lang, why=caution.sentence)
    if option.batch and option.tokens / option.batch < FEW_STEPS:
        yield _SAID["few_steps"].format(fewest=FEW_STEPS)


def _decision(question: Question, decision: Decision) -> str:
    option, cluster = decision.option, question.cluster
    spent = [f"{show_count(option.tokens)} tokens"]
    if option.replay:
        spent.append(f"{option.replay:.0%} of them replay")
    if cluster:
        spent.append(f"{_amount(option.hours)} hours on {cluster.count} {cluster.gpu.name}")
        spent.append(f"{_amount(option.cost)} US$")
    listed = list_languages(find_language(tag).name for tag in question.languages)
    return _SAID["decisions"][decision.code].format(
        name=option.name,
        language=f" on {listed}" if listed else "",
        params=show_count(option.params),
        spent=", ".join(spent),
    )


def _tokenizer(option: Option) -> Iterator[str]:
    several, kept = len(option.vocabularies) > 1, dict[str, list[str]]()
    for language, one in option.vocabularies.items():
        sure = "" if "measured" in one.before.method else f" {_ends(one.before)}"
        before = f"{one.before.value:.2f}{sure}"
        if not one.new_tokens:
            size = f"{before} ({language})" if several else before
            kept.setdefault(one.reason, []).append(size)
            continue
        yield _SAID["extend"].format(
            count=f"{one.new_tokens:,}",
            whose=f" for {language}" if several else "",
            before=before,
            after=f"{one.after.value:.2f}",
            saved=f"{one.saved:.0%}",
        )
        if one.rows:
            read = show_count(option.parts[language] / one.new_tokens)
            yield _SAID["new_rows"].format(rows=show_count(one.rows), read=read)
    whose = " for the others" if option.new_tokens else ""
    yield from (
        _SAID["keep"][why].format(before=", ".join(of), whose=whose) for why, of in kept.items()
    )


def _training(option: Option) -> Iterator[str]:
    method, memory = option.method, option.method.memory
    if option.batch and option.rate:
        yield _SAID["training"].format(
            method=method.name,
            memory=f" in {show_bytes(memory)} a GPU" if memory else "",
            batch=show_count(option.batch),
            rate=f"{option.rate:.1e}".replace("e-0", "e-"),
            caution=f". {method.caution}" if method.caution else "",
        )
        if len(option.targets) > 1:
            yield _SAID["several"]


def _loss(question: Question, option: Option, unit: str) -> Iterator[str]:
    before = question.losses.get(option.model.name)
    if option.loss is None:
        code = "short" if min(option.parts.values()) < LEAST_READ else "large"
        code = code if question.languages else "unknown"
    else:
        code = "unmeasured" if before is None else "measured"
    if option.loss is None or (option.base and (before or unit != "loss")):
        yield _SAID["loss"][code].format(
            before=before,
            after=_shown(option.loss),
            unit=unit,
            params=show_count(option.params),
            least=show_count(LEAST_READ),
        )
    if len(option.losses) > 1:
        each = ", ".join(f"{language} {_shown(one)}" for language, one in option.losses.items())
        yield _SAID["each"].format(each=each)


def _forgetting(question: Question, option: Option) -> Iterator[str]:
    if option.rise is None:
        return
    if question.max_forgetting is None or option.kept is None:
        yield _SAID["rise"].format(rise=_percent(option.rise), kept="")
        return
    limit = 100.0 * question.max_forgetting
    kept = _SAID["kept"].format(limit=limit, kept=option.kept)
    yield _SAID["rise"].format(rise=_percent(option.rise), kept=kept)
    if question.replay is None and option.kept < KEEPS:
        yield _SAID["no_promise"].format(most=option.replay, limit=limit, likely=KEEPS)


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
        paid = question.budget.tokens(option.params, option.per_token_flops, question.cluster)
        left = 1.0 - option.tokens / paid
        ended = _SAID["enough"] if question.usual else _SAID["text_ends"].format(left=left)
        ends = ended if left > _MUCH_LEFT else ""
    several = len(option.targets) > 1
    counts = {"count": show_count(question.unique(option.base)), "new": show_count(option.text)}
    code = "own" if option.base is None else "new" if option.new_tokens and not several else "base"
    counted = any(target.tokens is not None for target in question.targets)
    yield _SAID["text"].format(
        text=text,
        tokens="" if counted else _SAID["counted"][code].format(**counts),
        epochs=f"up to {option.epochs:.2g}" if several else f"{option.epochs:.2g}",
        ends=ends,
    )
    target = question.targets[0]
    known = find_language(target.language).texts if target.language else ()
    more = [one for one in known if one.bytes > 1.2 * target.text and "," not in one.source]
    if more and option.limit == "text":
        sources = ", ".join(f"{one.source} has {show_bytes(one.bytes)}" for one in more[:3])
        yield _SAID["more_text"].format(sources=sources)


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
