"""Does the forecast of a base's continuation hold? Short runs forecast one four times as long.

    python benchmarks/one_base.py [WORKSPACE]

A base of 0.2M parameters learns web documentation (`../shared/data/text/mdn`), nine tenths of it
English and a little of eight languages, as real bases do, and goes on in each of these with a fifth
of English: four short runs, and one that is four times as long as the longest of them. The law
`one-base` of the short ones forecasts its held-out loss. The real case is more such cases. The
width beyond the longest run (`ONE_BASE.stray`) was set on the first four languages and on Swahili
and Chinese of the real case; the other four and its later languages test it. A workspace is
resumed.
"""

import math
import sys
import tempfile
from datetime import date
from pathlib import Path

import torch

import tongues
from tongues.files import read_lines
from tongues.frames import text_table

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "../shared/data/text/mdn").resolve()
TARGETS = ("de", "ru", "tr", "zh", "ar", "ko", "es", "fr")
SET_ON = TARGETS[:4]
SHORT = (32768, 65536, 98304, 131072)  # tokens: 16 to 64 steps
LONG = 524288
RECIPE = """
name: lengths
text:
  files:
{files}
tokens: {{vocab_size: 4000, held_out: 20k tokens}}
model: {{shape: 0.2M}}
train:
  batch: 2048 tokens
  context: 128 tokens
  learning_rate: 3.0e-3
  eval_tokens: 4k tokens
  num_evals: 1
"""


def end_of(run: Path, lang: str) -> float:
    """The held-out loss at the end of a run."""
    return [row["loss"] for row in read_lines(run / "evals.jsonl") if row["lang"] == lang][-1]


def trained(workspace: Path) -> dict[str, dict[int, Path]]:
    """The runs of every language, by length."""
    recipe = workspace / "lengths.yaml"
    files = "\n".join(f"    {lang}: {TEXT}/{lang}.jsonl.gz" for lang in ("en", *TARGETS))
    few = ", ".join(f"{lang}: 1.25%" for lang in TARGETS)
    rest = f"  budget: 4M tokens\n  mixture: {{en: 90%, {few}}}\n"
    recipe.write_text(RECIPE.format(files=files) + rest)
    tongues.prepare(recipe, workspace=workspace)
    tongues.train(recipe, ("train.run=base",), workspace=workspace)
    runs: dict[str, dict[int, Path]] = {}
    for lang in TARGETS:
        for tokens in (*SHORT, LONG):
            changes = [f"train.run={lang}-{tokens}", "train.base=base"]
            changes += [f"train.mixture={{{lang}: 100%}}", f"train.targets=[{lang}]"]
            changes += ["train.replay={en: 20%}"]
            changes += [f"train.budget={tokens} tokens"]
            run = tongues.train(recipe, changes, workspace=workspace)
            runs.setdefault(lang, {})[tokens] = run
    return runs


def row(case: str, last: float, forecast: tuple[float, float, float], end: float) -> dict[str, str]:
    """A forecast and an outcome; log ratio: of the fall from `last` on to the one forecast."""
    low, point, high = forecast
    return {
        "case": case,
        "forecast, nats": f"{point:.3f} [{low:.3f}, {high:.3f}]",
        "outcome": f"{end:.3f}",
        "fall, log ratio": f"{math.log(math.log(last / end) / math.log(last / point)):+.2f}",
        "inside": "yes" if low <= end <= high else "no",
    }


def main() -> None:
    """Train, forecast, and count."""
    torch.set_num_threads(1)
    place = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    place.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, str]] = []
    for lang, runs in trained(place).items():
        law = tongues.fit([runs[tokens] for tokens in SHORT]).laws[0]
        assert law.form == "one-base"
        assert law.rows
        start = float(law.rows.variables["S"][0])
        of = law.predictor(1000)(D=float(LONG), S=start)
        forecast = float(of.low[0]), float(of.point[0]), float(of.high[0])
        last = end_of(runs[SHORT[-1]], lang)
        rows.append(row(lang, last, forecast, end_of(runs[LONG], lang)))
    print(f"{date.today()}; 95 % intervals of a single run, one seed")
    print(text_table(rows))
    for name, those in (
        ("first four languages, on which the width was set", SET_ON),
        ("the other four", tuple(set(TARGETS) - set(SET_ON))),
    ):
        own = [each for each in rows if each["case"] in those]
        errors = [float(each["fall, log ratio"]) for each in own]
        held = sum(each["inside"] == "yes" for each in own)
        spread = math.sqrt(sum(error**2 for error in errors) / len(errors))
        print(f"{name}: {held} of {len(own)} inside; root mean square {spread:.2f}")


if __name__ == "__main__":
    main()
