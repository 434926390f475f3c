"""What `tongues plan` forecasts for continued bases, against runs whose loss is known.

    python benchmarks/plan_losses.py > benchmarks/plan_losses.txt

Published runs give a perplexity of a base before and after; bits per byte follow by the bytes per
token of its tokenizer. Nothing of them set the forecast, but the head start of a base of which
nothing was measured was chosen with the first one in sight. Beside it is the simplest rule: the loss
before, which never falls.
"""

import math
from dataclasses import dataclass

import numpy as np

from tongues.frames import text_table
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


MISTRAL = BaseCheckpoint("Mistral-7B-v0.1", 7.24e9, tokenizer="llama2", languages=("en",))
QWEN2B = BaseCheckpoint("Qwen3.5-2B-Base", 2.0e9, 36e12, "qwen35", ("en", "zh"))
QWEN4B = BaseCheckpoint("Qwen3.5-4B-Base", 4.0e9, 36e12, "qwen35", ("en", "zh"))
_ZULU = "isiZulu Qwen3.5 (MzansiText)"
CASES = [
    Case("GEITje", "nl", MISTRAL, 10e9, 10e9, 7.99, 4.70, "github.com/Rijgersberg/GEITje"),
    Case(f"{_ZULU} 2B", "zu", QWEN2B, 135e6, 393e6, 38.60, 15.76, "its research note"),
    Case(f"{_ZULU} 4B, 50M on", "zu", QWEN4B, 392e6, 393e6, 14.39, 12.18, "its research note"),
]


def rows() -> list[dict[str, str]]:
    """One row a case and way of starting: unmeasured, and measured before."""
    made = []
    for case in CASES:
        one, target = outlook(Target(case.language)), Target(case.language)
        each = target.bytes_per_token(case.base).value
        before, after = (math.log2(p) / each for p in (case.before, case.after))
        read = worth(case.tokens, case.unique) * each
        for way, own in (("unmeasured", None), ("measured", before)):
            found = estimate(one.loss(case.base.params, read, one.start(case.base, own)))
            inside = (found.low or 0) <= after <= (found.high or math.inf)
            made.append(
                {
                    "run": case.name,
                    "base": way,
                    "before": f"{before:.3f}",
                    "forecast": f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]",
                    "after": f"{after:.3f}",
                    "error": f"{found.value / after - 1:+.0%}",
                    "inside": "yes" if inside else "no",
                    "source": case.source,
                }
            )
    return made


if __name__ == "__main__":
    table = rows()
    print(text_table(table))
    errors = [abs(float(row["error"].rstrip("%"))) for row in table]
    print(f"\nmedian error {np.median(errors):.0f} %, inside {sum(r['inside'] == 'yes' for r in table)} of {len(table)}")
