"""Laws on pages, fitted here or published: their figures, and the section of a study's laws."""

from collections.abc import Sequence

from tongues.core.estimate import Estimate
from tongues.core.pages import Figure, interval, minus, short
from tongues.core.pages import blocks as b
from tongues.core.pages.axes import domain, series_name
from tongues.laws import Law, allocate
from tongues.report.laws.fit import forgetting_law, power_laws, residuals
from tongues.report.laws.series import all_series, of_findings, of_laws
from tongues.report.laws.surface import loss_surface
from tongues.report.words import SAID
from tongues.train.study.findings import Findings

__all__ = ["findings_law_figures", "findings_law_section", "law_figures"]

_SYMBOLS = {"E": "E", "A": "A", "alpha": "α", "B": "B", "beta": "β", "gamma": "γ"}


def law_figures(laws: Sequence[Law]) -> list[Figure]:
    """Every figure these laws allow, with the rows they were fitted on where these are known."""
    fitted = of_laws(laws)
    names = all_series(fitted)
    drawn = [loss_surface(fitted, names), power_laws(fitted, names)]
    drawn += [residuals(fitted), forgetting_law(fitted)]
    return [figure for figure in drawn if figure]


def findings_law_figures(findings: Findings) -> list[Figure | None]:
    """Those of a study's laws; no predictions of a law that the runs do not pin down."""
    fitted, names = of_findings(findings), domain(findings.ratios)
    firm = [each for each in fitted if not each.law.loose]
    return [forgetting_law(fitted), loss_surface(firm, names), residuals(fitted)]


def findings_law_section(findings: Findings) -> b.Section | None:
    """Every law of a study, fitting errors and caveats, and why some laws were not fitted."""

    def cell(value: float, ends: tuple[float, float] | None) -> b.Cell:
        of = Estimate(value, *(ends or (None, None)))
        return b.Cell(minus(short(value, 3)), of, below=interval(of, short))

    def parameter(law: Law | None, name: str) -> b.Entry:
        return cell(law.params[name], law.interval.get(name)) if law and name in law.params else ""

    rows: list[dict[str, b.Entry]] = []
    caveats: dict[str, list[str]] = {}
    for fitted in findings.laws:
        for strategy in ("scratch", "cpt"):
            law, power = fitted.laws.get(strategy), fitted.powers.get(strategy)
            best = allocate(law) if law and not law.loose else None
            size = cell(best.a, best.interval.get("a")) if best else "not pinned" if law else ""
            row: dict[str, b.Entry] = {"target": fitted.target}
            row["strategy"] = b.Cell(series_name(strategy), kind=strategy)
            row |= {symbol: parameter(law, name) for name, symbol in _SYMBOLS.items()}
            row |= {"a": size, "runs": b.Cell(str(law.n_runs), law.n_runs) if law else ""}
            row |= {"A′": parameter(power, "A"), "g": parameter(power, "gamma")}
            rows += [row] if law or power else []
            for fit, what in ((law, "law"), (power, "envelope")):
                for caution in fit.warnings if fit else ():
                    name = f"`{fitted.target}` {series_name(strategy)} {what}"
                    caveats.setdefault(caution.sentence, []).append(name)
    refused = [b.Items(findings.refused, "notes")] if findings.refused else []
    if not rows:
        return b.Section("laws", "Laws that were not fitted", refused) if refused else None
    errors: list[dict[str, b.Entry]] = []
    for target, compared in findings.compared.items():
        for entry in compared.entries:
            row = {"target": target}
            row["runs of"] = b.Cell(series_name(entry.strategy), kind=entry.strategy)
            row |= {"form": entry.law, "losses": b.Cell(str(entry.n_rows), entry.n_rows)}
            row["error"] = b.Cell(f"{1e6 * entry.mean_huber:.3g}", entry.mean_huber)
            held = entry.error is not None
            row["off on the largest"] = b.Cell(f"{entry.error:.2%}", entry.error) if held else ""
            row["γ"] = cell(entry.gamma[0], entry.gamma[1:]) if entry.gamma else ""
            errors.append(row)
    blocks: list[b.Block] = [SAID["about_forms"], b.Table.of(rows)]
    if errors:
        blocks += [b.Heading("Fitting errors"), SAID["about_errors"], b.Table.of(errors)]
    if caveats:
        named = [(", ".join(names), text) for text, names in caveats.items()]
        notes = [f"{names}: {text}{'' if text[-1] in '.?!' else '.'}" for names, text in named]
        blocks += [b.Heading("Caveats"), b.Items(notes, "notes")]
    if refused:
        blocks += [b.Heading("Not fitted"), *refused]
    return b.Section("laws", "Fitted laws", blocks)
