"""The tables of a study: laws with their intervals, fitting errors, claims, and every run."""

from collections.abc import Iterable, Sequence

from tongues.estimate import Estimate
from tongues.laws import Law, allocate
from tongues.pages import (
    Block,
    Cell,
    Entry,
    Paragraph,
    Table,
    fixed,
    interval,
    minus,
    short,
)
from tongues.quantities import show_count
from tongues.report.findings import Findings
from tongues.report.theme import series
from tongues.report.verdicts import Claim, Part
from tongues.report.words import ABOUT_LAWS, ABOUT_MEANS, with_stop

__all__ = ["claim_tables", "error_table", "law_notes", "law_table", "run_table"]

_SYMBOLS = {"E": "E", "A": "A", "alpha": "α", "B": "B", "beta": "β", "gamma": "γ"}
_ABOUT_CLAIMS = (
    f"{ABOUT_MEANS} {ABOUT_LAWS} Each verdict is for itself: of many findings without any effect, "
    "about one in forty would still be said to hold. All runs of a target share its text, about "
    "whose choice the intervals say nothing."
)


def law_table(findings: Findings) -> list[Table]:
    """A row per target and strategy: parameters, allocation and envelope, with intervals."""
    rows: list[list[Entry]] = []
    for fitted in findings.laws:
        for strategy in ("scratch", "cpt"):
            law, power = fitted.laws.get(strategy), fitted.powers.get(strategy)
            if law or power:
                loose = law is None or bool(fitted.loose(strategy))
                ends = [_parameter(power, name) for name in ("A", "gamma")]
                rows.append([fitted.target, _strategy(strategy), *_law_cells(law, loose), *ends])
    head = ["target", "strategy", *_SYMBOLS.values(), "a", "runs", "A′", "g"]
    return [Table(head, rows)] if rows else []


def error_table(findings: Findings) -> list[Table]:
    """A row per target, strategy and form of law: its errors, and gamma where it has one."""
    rows: list[list[Entry]] = [
        [
            target,
            _strategy(entry.strategy),
            entry.law,
            Cell(str(entry.n_rows), entry.n_rows),
            Cell(f"{1e6 * entry.mean_huber:.3g}", entry.mean_huber),
            Cell(f"{1e6 * entry.validated:.3g}", entry.validated, strong=entry.best),
            _estimate(entry.gamma[0], entry.gamma[1:]) if entry.gamma else None,
        ]
        for target, compared in findings.compared.items()
        for entry in compared.entries
    ]
    head = ["target", "runs of", "form", "losses", "error", "on left-out runs", "γ"]
    return [Table(head, rows)] if rows else []


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


def run_table(findings: Findings) -> Table:
    """Every run, with its final loss on each language."""
    langs = list(dict.fromkeys(lang for run in findings.runs for lang in run.curves))
    several = bool(findings.bases)  # base models that differ in how long they were trained
    order = {strategy: i for i, strategy in enumerate(("source", "scratch", "cpt"))}
    rows: list[list[Entry]] = []
    for run in sorted(
        findings.runs,
        key=lambda r: (order.get(r.strategy, 9), r.target, r.replay, r.params, r.tokens, r.seed),
    ):
        before = [show_count(run.base_tokens) if run.base_tokens else ""] if several else []
        flops = run.learned.compute[-1]
        losses = [
            ("" if loss is None else Cell(f"{loss:.3f}", loss, beside=f"{bits[lang]:.3f}"))
            for bits in (run.bits_per_byte,)
            for lang in langs
            for loss in (run.final(lang),)
        ]
        rows.append(
            [
                Cell(series(run.strategy, run.replay), kind=run.strategy),
                run.target,
                run.shape,
                run.params,
                Cell(str(run.seed), run.seed),
                Cell(show_count(run.tokens), run.tokens),
                *before,
                Cell(f"{flops:.2e}".replace("e+", "e"), flops),
                *losses,
            ]
        )
    head = ["strategy", "learns", "shape", "parameters", "seed", "tokens"]
    head += [*(["tokens before"] if several else []), "FLOPs"]
    return Table([*head, *(f"loss, {lang}" for lang in langs)], rows)


def _strategy(strategy: str) -> Cell:
    return Cell(series(strategy, 0.0), kind=strategy)


def _law_cells(law: Law | None, loose: bool) -> list[Entry]:
    if law is None:
        return [""] * (len(_SYMBOLS) + 2)
    best = None if loose else allocate(law)
    size = _estimate(best.a, best.interval.get("a")) if best else Cell("not pinned")
    runs = Cell(str(law.n_runs), law.n_runs)
    return [*(_parameter(law, name) for name in _SYMBOLS), size, runs]


def _parameter(law: Law | None, name: str) -> Cell:
    if law is None or name not in law.params:
        return Cell("")
    return _estimate(law.params[name], law.interval.get(name))


def _estimate(value: float, ends: tuple[float, float] | None) -> Cell:
    """A value to three figures, its interval to two."""
    low, high = ends or (None, None)
    of = Estimate(value, low, high)
    return Cell(minus(short(value, 3)), of, below=interval(of, short))


def claim_tables(claims: Sequence[Claim], targets: Sequence[str]) -> list[Block]:
    """Two tables: what is about a target as a whole, and what is about each share of replay."""
    whole = [claim for claim in claims if claim.parts[0].replay is None]
    shared = [claim for claim in claims if claim.parts[0].replay is not None]
    blocks: list[Block] = []
    if whole:
        rows = [_row(claim, targets) for claim in whole]
        blocks.append(Table(["found by others", *targets], rows, left=True))
    if shared:
        shares = sorted({part.replay or 0.0 for claim in shared for part in claim.parts})
        head = ["with replay of", "target", *(f"{share * 100:.3g} %" for share in shares)]
        rows = [row for claim in shared for row in _rows(claim, targets, shares)]
        blocks.append(Table(head, rows, "by-share", left=True))
    return [*blocks, Paragraph(_ABOUT_CLAIMS, "notes")] if blocks else []


def _row(claim: Claim, targets: Iterable[str]) -> list[Entry]:
    parts = {part.target: part for part in claim.parts}
    cells = [_cell(claim, parts[target]) if target in parts else "" for target in targets]
    return [_finding(claim), *cells]


def _rows(claim: Claim, targets: Iterable[str], shares: Sequence[float]) -> Iterable[list[Entry]]:
    """A row a target, the finding told once."""
    told: Entry = _finding(claim)
    for target in targets:
        parts = {part.replay: part for part in claim.parts if part.target == target}
        if parts:
            cells = [_cell(claim, parts[share]) if share in parts else "" for share in shares]
            yield [told, target, *cells]
            told = ""


def _finding(claim: Claim) -> Cell:
    unit = {"%": "", "points": ", percentage points", "": ""}.get(claim.unit, f", {claim.unit}")
    return Cell(claim.finding, below=claim.measure + unit, kind="claim", marked=True)


def _cell(claim: Claim, part: Part) -> Cell:
    """A number to as many decimals as its size asks for, its interval, verdict and reason."""
    size, of = abs(part.value.value), part.value
    shares = claim.unit in ("%", "points")
    show = fixed((1 if size < 10 else 0) if shares else (3 if size < 0.1 else 2))
    beside = f" beside {part.beside}" if part.beside else ""
    text = minus(show(of.value)) + (" %" if claim.unit == "%" else "") + beside
    notes = [
        (part.verdict, f"verdict {part.verdict.replace(' ', '-')}"),
        (f"n = {of.n}", "n"),
        *([(part.reason, "why")] if part.reason else []),
    ]
    return Cell(text, below=interval(of, show) or "no interval", notes=notes)
