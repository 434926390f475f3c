"""The tables of the page: laws with their intervals, and every run."""

import re
from html import escape

from tongues.laws import Law, allocate
from tongues.quantities import show_count
from tongues.report.findings import Findings
from tongues.report.html import table, word
from tongues.report.theme import series
from tongues.report.words import with_stop

__all__ = ["error_table", "law_notes", "law_table", "run_table"]

_SYMBOLS = {"E": "E", "A": "A", "alpha": "α", "B": "B", "beta": "β", "gamma": "γ"}


def law_table(findings: Findings) -> str:
    """A row per target and strategy: parameters, allocation and envelope, with intervals."""
    rows = []
    for fitted in findings.laws:
        for strategy in ("scratch", "cpt"):
            law, power = fitted.laws.get(strategy), fitted.powers.get(strategy)
            if law is None and power is None:
                continue
            name = f'<span class="{strategy}">{series(strategy, 0.0)}</span>'
            cells = [
                word(escape(fitted.target)),
                word(name),
                *_law_cells(law, law is None or bool(fitted.loose(strategy))),
                *_power_cells(power),
            ]
            rows.append(cells)
    head = [word("target"), word("strategy"), *_SYMBOLS.values()]
    head += ["a", "runs", "A′", "g"]
    return table(head, rows) if rows else ""


def error_table(findings: Findings) -> str:
    """A row per target, strategy and form of law: its errors, and gamma where it has one."""
    rows: list[list[str]] = []
    for target, compared in findings.compared.items():
        for entry in compared.entries:
            left_out = f"{1e6 * entry.validated:.3g}"
            name = f'<span class="{entry.strategy}">{series(entry.strategy, 0.0)}</span>'
            gamma = entry.gamma and _number(entry.gamma[0], entry.gamma[1:])
            cells = [word(escape(target)), word(name), word(entry.law), str(entry.n_rows)]
            cells += [f"{1e6 * entry.mean_huber:.3g}", left_out, gamma or ""]
            if entry.best:
                cells[5] = f"<b>{left_out}</b>"
            rows.append(cells)
    head = [word("target"), word("runs of"), word("form"), "losses", "error", "on left-out runs"]
    return table([*head, "γ"], rows) if rows else ""


def law_notes(findings: Findings) -> list[str]:
    """The cautions of every fit, each told once with the fits it is about."""
    about: dict[str, list[str]] = {}
    for fitted in findings.laws:
        fits: list[tuple[str, str, Law]] = []
        fits += [(strategy, "law", law) for strategy, law in fitted.laws.items()]
        fits += [(strategy, "envelope", power) for strategy, power in fitted.powers.items()]
        for strategy, what, fit in fits:
            for caution in fit.warnings:
                name = f"`{fitted.target}` {series(strategy, 0.0)} {what}"
                about.setdefault(caution.sentence, []).append(name)
    return [with_stop(f"{', '.join(names)}: {said}") for said, names in about.items()]


def run_table(findings: Findings) -> str:
    """Every run, with its final loss on each language."""
    langs = list(dict.fromkeys(lang for run in findings.runs for lang in run.curves))
    several = bool(findings.bases)  # source models, so that they must be told apart
    order = {strategy: i for i, strategy in enumerate(("source", "scratch", "cpt"))}
    rows = []
    for run in sorted(
        findings.runs,
        key=lambda r: (order.get(r.strategy, 9), r.target, r.replay, r.params, r.tokens, r.seed),
    ):
        name = series(run.strategy, run.replay)
        rows.append(
            [
                word(f'<span class="{escape(run.strategy)}">{escape(name)}</span>'),
                word(escape(run.target)),
                escape(run.shape),
                f"{run.params:,}",
                str(run.seed),
                show_count(run.tokens),
                *([show_count(run.base_tokens) if run.base_tokens else ""] if several else []),
                f"{run.learned.compute[-1]:.2e}".replace("e+", "e"),
                *(
                    ""
                    if (loss := run.final(lang)) is None
                    else f"{loss:.3f}<small class='beside'>{run.bits_per_byte[lang]:.3f}</small>"
                    for lang in langs
                ),
            ]
        )
    head = [word("strategy"), word("learns"), "shape", "parameters", "seed", "tokens"]
    head += [*(["tokens before"] if several else []), "FLOPs"]
    return table([*head, *(f"loss, {escape(lang)}" for lang in langs)], rows)


def _law_cells(law: Law | None, loose: bool) -> list[str]:
    if law is None:
        return [""] * (len(_SYMBOLS) + 2)
    cells = [
        _number(law.params[name], law.interval.get(name)) if name in law.params else ""
        for name in _SYMBOLS
    ]
    best = None if loose else allocate(law)
    cells.append(_number(best.a, best.interval.get("a")) if best else "not pinned")
    return [*cells, str(law.n_runs)]


def _power_cells(power: Law | None) -> list[str]:
    if power is None:
        return ["", ""]
    return [_number(power.params[name], power.interval.get(name)) for name in ("A", "gamma")]


def _number(value: float, ends: tuple[float, float] | None) -> str:
    between = f"[{', '.join(_short(end) for end in ends)}]" if ends else ""
    return f"{_short(value, 3)}<small>{between}</small>"


def _short(value: float, figures: int = 2) -> str:
    """Few figures, but no exponent below a thousand."""
    said = f"{value:.{3 if 100 <= abs(value) < 1000 else figures}g}"
    return re.sub(r"e\+?(-?)0*", r"e\1", said).replace("-", "−")
