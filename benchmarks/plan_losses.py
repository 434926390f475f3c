"""What `tongues plan` forecasts for continued bases, against runs whose loss is known.

    python benchmarks/plan_losses.py > benchmarks/plan_losses.txt

Published runs give a perplexity of a base before and after; bits per byte follow by the bytes per
token of its tokenizer. A plan that knows the loss before forecasts the one after. What bases know
of a language was chosen with the first two in sight. Beside it is no change.
"""

import math
from dataclasses import dataclass

import numpy as np

from tongues.core.frames import text_table
from tongues.plan import BaseCheckpoint, Target
from tongues.plan.outlook import estimate, outlook, worth


@dataclass(frozen=True)
class Case:
    """A run: perplexities per token of its base, before and after, on text of the language."""

    name: str
    language: str
    base: BaseCheckpoint
    tokens: float  # of the language
    unique: float
    before: float
    after: float
    source: str


MISTRAL = BaseCheckpoint("Mistral-7B-v0.1", 7.24e9, tokenizer="mistral", languages=("en",))
QWEN2B = BaseCheckpoint("Qwen3.5-2B-Base", 2.0e9, 36e12, "qwen35", ("en", "zh"))
QWEN4B = BaseCheckpoint("Qwen3.5-4B-Base", 4.0e9, 36e12, "qwen35", ("en", "zh"))
_ZULU = "isiZulu Qwen3.5 (MzansiText)"
CASES = [
    Case("GEITje", "nl", MISTRAL, 10e9, 10e9, 7.99, 4.70, "github.com/Rijgersberg/GEITje"),
    Case(f"{_ZULU} 2B", "zu", QWEN2B, 135e6, 393e6, 38.60, 15.76, "its research note"),
    Case(f"{_ZULU} 4B, 50M on", "zu", QWEN4B, 392e6, 393e6, 14.39, 12.18, "its research note"),
]


def rows() -> list[dict[str, str]]:
    """One row a case."""
    made = []
    for case in CASES:
        one, target = outlook(Target(case.language)), Target(case.language)
        each = target.bytes_per_token(case.base).value
        before, after = (math.log2(p) / each for p in (case.before, case.after))
        read = worth(case.tokens, case.unique) * each
        start = one.start(case.base, before)
        found = estimate(one.loss(case.base.params, read, start))
        low, high = found.low or 0.0, found.high or math.inf
        made.append(
            {
                "run": case.name,
                "before": f"{before:.3f}",
                "forecast": f"{found.value:.3f} [{low:.3f}, {high:.3f}]",
                "after": f"{after:.3f}",
                "error": f"{found.value / after - 1:+.0%}",
                "of no change": f"{before / after - 1:+.0%}",
                "inside": "yes" if low <= after <= high else "no",
                "source": case.source,
            }
        )
    return made


if __name__ == "__main__":
    table = rows()
    print(text_table(table))
    errors, still = (
        np.median([abs(float(row[name].rstrip("%"))) for row in table])
        for name in ("error", "of no change")
    )
    inside = sum(row["inside"] == "yes" for row in table)
    print(f"\nmedian error {errors:.0f} %, of no change {still:.0f} %")
    print(f"inside the 95 % interval: {inside} of {len(table)}")
