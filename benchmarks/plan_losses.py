"""What `tongues plan` forecasts for continued bases, against runs whose loss is known.

    python benchmarks/plan_losses.py > benchmarks/plan_losses.txt

`plan_losses.csv` has the runs: tokens of the language, how many of them differ, and bits per byte
before and after; published ones from perplexities and the bytes per token of the tokenizer. A plan
that knows the loss before forecasts the one after. What it takes for the first steps was chosen on
the runs that say so, what bases know of a language with the first two in sight. Beside it are no
change, and the simplest rule: the mean change of the runs it was chosen on.
"""

import csv
from pathlib import Path
from statistics import fmean, median

from tongues.core.pages import text_table
from tongues.plan import Target
from tongues.plan.bases import read_base
from tongues.plan.outlook import estimate, outlook, worth

TABLE = Path(__file__).with_suffix(".csv")
CHOSEN = "chosen on"


def rows() -> list[dict[str, str]]:
    """One row a run."""
    with TABLE.open(encoding="utf-8") as file:
        runs = list(csv.DictReader(file))
    known = [float(run["after"]) / float(run["before"]) for run in runs if CHOSEN in run["source"]]
    made = []
    for run in runs:
        base, one = read_base(run["base"]), outlook(Target(run["language"]))
        before, after = float(run["before"]), float(run["after"])
        read = worth(float(run["tokens"]), float(run["unique"])) * float(run["bytes_per_token"])
        found = estimate(one.loss(base.params, read, one.start(base, before)))
        low, high = found.low or 0.0, found.high or 0.0
        made.append(
            {
                "run": run["run"],
                "before": f"{before:.3f}",
                "forecast": f"{found.value:.3f} [{low:.3f}, {high:.3f}]",
                "after": f"{after:.3f}",
                "error": f"{found.value / after - 1:+.0%}",
                "of no change": f"{before / after - 1:+.0%}",
                "of the mean change": f"{before * fmean(known) / after - 1:+.0%}",
                "inside": "yes" if low <= after <= high else "no",
                "source": run["source"],
            }
        )
    return made


if __name__ == "__main__":
    table = rows()
    print(text_table(table))
    for what, chosen in {"not chosen on": False, CHOSEN: True}.items():
        some = [row for row in table if (CHOSEN in row["source"]) == chosen]
        errors = {
            name: median(abs(float(row[name].rstrip("%"))) for row in some)
            for name in ("error", "of no change", "of the mean change")
        }
        inside = sum(row["inside"] == "yes" for row in some)
        listed = ", ".join(f"{name} {value:.0f} %" for name, value in errors.items())
        print(f"\n{what}, medians: {listed}; inside the 95 % interval: {inside} of {len(some)}")
