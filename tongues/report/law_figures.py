"""All figures of fitted or published laws, in reading order."""

from collections.abc import Sequence

from tongues.laws import Law
from tongues.laws.rows import Rows
from tongues.report.charts import Figure
from tongues.report.clouds import clouds
from tongues.report.forgotten import forgetting_law
from tongues.report.law_series import all_series, of_laws
from tongues.report.powers import power_laws
from tongues.report.repeats import repeats
from tongues.report.residuals import extrapolation, residuals
from tongues.report.saved import saved_by_laws
from tongues.report.surfaces import loss_surface

__all__ = ["law_figures"]


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
        residuals(fitted),
        extrapolation(fitted),
        clouds(fitted, names),
        repeats(fitted, names),
        forgetting_law(fitted),
    )
    return [figure for figure in drawn if figure]
