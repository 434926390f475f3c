"""Laws on pages, fitted here or published: their figures, and the section of a study's laws."""

from collections.abc import Sequence

from tongues.estimate import Estimate
from tongues.laws import Law, allocate
from tongues.laws.rows import Rows
from tongues.pages import (
    Block,
    Cell,
    Entry,
    Figure,
    Heading,
    Items,
    Paragraph,
    Section,
    Table,
    interval,
    minus,
    short,
)
from tongues.pages.series import domain, series_name
from tongues.report.findings import Findings
from tongues.report.laws.compute import power_laws, saved_by_laws
from tongues.report.laws.fit import SYMBOLS, clouds, forgetting_law, repeats, residuals
from tongues.report.laws.series import all_series, of_findings, of_laws
from tongues.report.laws.surface import loss_surface

__all__ = ["findings_law_figures", "findings_law_section", "law_figures"]

_NAMES = ("E", "A", "alpha", "B", "beta", "gamma")
_ABOUT_FORMS = (
    "Loss in nats per token over N parameters (all of them) and D tokens: "
    "L = E + A/N^{α} + B/D^{β} from scratch, with B/(D^{β} N^{γ}) as its last term for CPT, which "
    "takes E, A and α over; along the envelope, L = A′/C^{g} over C FLOPs. The best size for "
    "compute C grows as C^{a}. Below each number is its 95 % interval, from resampling whole runs."
)
_ABOUT_ERRORS = (
    "The mean Huber error (of the log loss, threshold 0.001) of every form on the runs of each "
    "strategy, in millionths: of the fit, and on left-out runs. The extended form is Chinchilla's "
    "with γ free, all else fitted again; CPT's takes E, A and α from scratch. γ with its 95 % "
    "interval. Bold: the best on left-out runs."
)


def law_figures(laws: Sequence[Law], observed: Sequence[Rows | None]) -> list[Figure]:
    """Every figure these laws allow.

    observed: for each law the rows it was fitted on, or None where they are not at hand, as for a
    law from print or from a file.
    """
    fitted = of_laws(laws, observed)
    names = all_series(fitted)
    drawn = (
        loss_surface(fitted, names),
        power_laws(fitted, names),
        saved_by_laws(fitted),
        *residuals(fitted),
        clouds(fitted, names),
        repeats(fitted, names),
        forgetting_law(fitted),
    )
    return [figure for figure in drawn if figure]


def findings_law_figures(findings: Findings) -> list[Figure]:
    """Those of a study's laws; no predictions of a law that the runs do not pin down."""
    fitted, names = of_findings(findings), domain(findings.ratios)
    firm = [each for each in fitted if not each.law.loose]
    drawn = (
        forgetting_law(fitted),
        loss_surface(firm, names),
        saved_by_laws(firm),
        *residuals(fitted),
        clouds(fitted, names),
    )
    return [figure for figure in drawn if figure]


def findings_law_section(findings: Findings) -> Section | None:
    """Parameters, allocation and envelope of every law of a study, fitting errors, and caveats."""

    def cell(value: float, ends: tuple[float, float] | None) -> Cell:
        of = Estimate(value, *(ends or (None, None)))
        return Cell(minus(short(value, 3)), of, below=interval(of, short))

    def parameter(law: Law | None, name: str) -> Entry:
        return cell(law.params[name], law.interval.get(name)) if law and name in law.params else ""

    rows: list[dict[str, Entry]] = []
    caveats: dict[str, list[str]] = {}
    for fitted in findings.laws:
        for strategy in ("scratch", "cpt"):
            law, power = fitted.laws.get(strategy), fitted.powers.get(strategy)
            best = allocate(law) if law and not law.loose else None
            size = cell(best.a, best.interval.get("a")) if best else "not pinned" if law else ""
            row: dict[str, Entry] = {"target": fitted.target}
            row["strategy"] = Cell(series_name(strategy), kind=strategy)
            row |= {SYMBOLS.get(name, name): parameter(law, name) for name in _NAMES}
            row |= {"a": size, "runs": Cell(str(law.n_runs), law.n_runs) if law else ""}
            row |= {"A′": parameter(power, "A"), "g": parameter(power, "gamma")}
            rows += [row] if law or power else []
            for fit, what in ((law, "law"), (power, "envelope")):
                for caution in fit.warnings if fit else ():
                    name = f"`{fitted.target}` {series_name(strategy)} {what}"
                    caveats.setdefault(caution.sentence, []).append(name)
    if not rows:
        return None
    errors: list[dict[str, Entry]] = [
        {
            "target": target,
            "runs of": Cell(series_name(entry.strategy), kind=entry.strategy),
            "form": entry.law,
            "losses": Cell(str(entry.n_rows), entry.n_rows),
            "error": Cell(f"{1e6 * entry.mean_huber:.3g}", entry.mean_huber),
            "on left-out runs": Cell(
                f"{1e6 * entry.validated:.3g}", entry.validated, strong=entry.best
            ),
            "γ": cell(entry.gamma[0], entry.gamma[1:]) if entry.gamma else "",
        }
        for target, compared in findings.compared.items()
        for entry in compared.entries
    ]
    blocks: list[Block] = [Paragraph(_ABOUT_FORMS, "quiet"), Table.of(rows)]
    if errors:
        blocks += [Heading("Fitting errors"), Paragraph(_ABOUT_ERRORS, "quiet"), Table.of(errors)]
    if caveats:
        notes = [
            f"{', '.join(names)}: {text}{'' if text[-1] in '.?!' else '.'}"
            for text, names in caveats.items()
        ]
        blocks += [Heading("Caveats"), Items(notes, "notes")]
    return Section("laws", "Fitted laws", blocks)
