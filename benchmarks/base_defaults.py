"""The rules for what a recipe leaves out with a base, against the projects that they follow.

    python benchmarks/base_defaults.py > benchmarks/base_defaults.txt

Reads the shared table of projects beside the project, those that state their peak rate. Each study
is left out in turn of the constant that is fitted.
The rate of short runs was measured by `base_defaults.yaml`, 40 steps of SmolLM2-135M on Swahili, in
minutes: `tongues prepare`, then `tongues train`. The last lines of the result are from its evals.
"""

import csv
import math
import re
from pathlib import Path
from statistics import median

from tongues.core.pages import text_table
from tongues.core.quantities import show_count
from tongues.train.defaults import base_batch, base_rate

TABLE = Path(__file__).parents[2] / "shared/data/published/projects.csv"
SCALE = {"M": 1e6, "B": 1e9, "T": 1e12}
AT, LARGE = 7e9, 13e9  # parameters at which a constant is given; of the largest projects
MANY = 20_000  # steps, as many as published projects took: their rate is not that of short runs
FORMS = {"constant": 0.0, "N^-0.1": -0.1, "N^-0.2": -0.2, "N^-0.4": -0.4, "N^-0.713": -0.713}


def amount(text: str) -> float:
    """The first amount of a cell, such as `about 10.5B (…)` or `16,384`; NaN without one."""
    match = re.search(r"(\d[\d,.]*)\s*([MBT])\b", text) or re.search(r"(\d[\d,]+)()\b(?! GB)", text)
    return float(match[1].replace(",", "")) * SCALE.get(match[2], 1.0) if match else math.nan


def projects() -> list[dict]:
    """Those of the table that state a peak rate."""
    rows = []
    with TABLE.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if not row["peak_lr"]:
                continue
            tokens, batch = amount(row["cpt_tokens"]), amount(row["batch_tokens"])
            if "sequence" in row["batch_tokens"]:
                batch = math.nan  # their length is not stated
            rows.append(
                {
                    "project": re.split(r" \(", row["project"])[0],
                    "study": re.split(r"[ -]", row["project"])[0],
                    "params": amount(row["base_params"]),
                    "tokens": tokens,
                    "batch": batch,
                    "rate": float(re.findall(r"^[\d.e-]+", row["peak_lr"])[0]),
                    "lora": "cpt (lora" in row["kind"].lower() or "LoRA" in row["project"],
                    "schedule": row["schedule"],
                }
            )
    return rows


def warmups(rows: list[dict]) -> list[float]:
    """Share of the steps that each project warmed up, where it can be read or computed."""
    shares = []
    for row in rows:
        steps = row["tokens"] / row["batch"]
        if match := re.search(r"warm-up ([\d.]+)%|([\d.]+)% warm-up", row["schedule"]):
            shares.append(float(match[1] or match[2]) / 100)
        elif (match := re.search(r"(\d[\d,]*) warm-up|warm-up (\d[\d,]*)", row["schedule"])) and (
            math.isfinite(steps)
        ):
            shares.append(float((match[1] or match[2]).replace(",", "")) / steps)
    return shares


def for_new_tokens() -> dict[str, float]:
    """Training tokens for each token that a project added, where both are stated."""
    found = {}
    with TABLE.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            added = re.search(r"extended \D*\+([\d,]+)", row["tokenizer_change"])
            if added and math.isfinite(tokens := amount(row["cpt_tokens"])):
                found[row["project"]] = tokens / float(added[1].replace(",", ""))
    return found


def left_out(rows: list[dict], size: float) -> list[float]:
    """Of each project, predicted over published rate, by the median constant of other studies.

    size: the power of the parameters.
    """
    constants = [math.log(row["rate"]) - size * math.log(row["params"] / AT) for row in rows]
    ratios = []
    for row, constant in zip(rows, constants, strict=True):
        others = [x for x, of in zip(constants, rows, strict=True) if of["study"] != row["study"]]
        ratios.append(math.exp(median(others) - constant))
    return ratios


def before(row: dict) -> float:
    """The rate by the rule until November 2026: of Step law, which was measured below 1B."""
    batch = row["batch"] if math.isfinite(row["batch"]) else base_batch(row["tokens"], 2048)
    return 1.4e-4 * (row["params"] / AT) ** -0.713 * math.sqrt(min(1.0, batch / 2**22))


def errors(name: str, ratios: list[float], rows: list[dict]) -> dict[str, str]:
    """A row of the table: how many times rates are off, in either direction."""
    off = [abs(math.log(ratio)) for ratio in ratios]
    large = [x for x, row in zip(off, rows, strict=True) if row["params"] >= LARGE]
    return {
        "rule": name,
        "median, times": f"{math.exp(median(off)):.2f}",
        "geometric mean": f"{math.exp(sum(off) / len(off)):.2f}",
        "largest": f"{math.exp(max(off)):.2f}",
        "13B and more: median": f"{math.exp(median(large)):.2f}",
        "largest of these": f"{math.exp(max(large)):.2f}",
    }


def show_rules() -> None:
    """All tables of the projects."""
    everyone = projects()
    full = [row for row in everyone if not row["lora"]]
    rows = [row for row in full if math.isfinite(row["batch"] + row["tokens"])]
    steps = [row["tokens"] / row["batch"] for row in rows]
    least, most = min(steps), max(steps)
    print(f"steps: median {median(steps):,.0f} of {len(steps)}, {least:,.0f} to {most:,.0f}")
    shares = warmups(full)
    least, most = min(shares), max(shares)
    print(f"warm-up: median {median(shares):.1%} of {len(shares)}, {least:.1%} to {most:.0%}")
    rates, batches = [row["rate"] for row in full], [row["batch"] for row in rows]
    of_new = for_new_tokens()
    fewest = sorted(of_new, key=of_new.__getitem__)
    print(
        f"training tokens for each new token, {len(of_new)} projects: "
        + ", ".join(f"{name} {of_new[name]:,.0f}" for name in fewest[:3])
        + f", …, {max(of_new.values()):,.0f}"
    )
    print(f"peak rate: {min(rates):g} to {max(rates):g}, {len(rates)} projects")
    print(f"batch: {min(batches):,.0f} to {max(batches):,.0f} tokens, {len(batches)} projects\n")
    print(f"peak rate, {len(full)} projects that trained all weights: how many times off")
    ours = [base_rate(row["params"], MANY) / row["rate"] for row in full]
    table = [errors("the rule, as it is", ours, full)]
    table += [
        errors(f"{name}, each study left out", left_out(full, power), full)
        for name, power in FORMS.items()
    ]
    table.append(errors("1e-4", [1e-4 / row["rate"] for row in full], full))
    table.append(errors("the rule before", [before(row) / row["rate"] for row in full], full))
    print(text_table(table))
    low_rank = [row["rate"] / base_rate(row["params"], MANY) for row in everyone if row["lora"]]
    times = ", ".join(f"{ratio:.2g}" for ratio in sorted(low_rank))
    print(f"\nprojects with LoRA trained at {times} times the rule for all weights\n")
    print("each project: its batch and ours for its tokens; its rate, and ours")
    table = []
    for row in everyone:
        batch = base_batch(row["tokens"], 2048) if math.isfinite(row["tokens"]) else math.nan
        table.append(
            {
                "project": row["project"],
                "parameters": show_count(row["params"]),
                "tokens": show_count(row["tokens"]) if math.isfinite(row["tokens"]) else "",
                "batch": show_count(row["batch"]) if math.isfinite(row["batch"]) else "",
                "our batch": show_count(batch) if math.isfinite(batch) else "",
                "rate": f"{row['rate']:g}",
                "our rate": f"{base_rate(row['params'], MANY):.2g}",
                "note": "LoRA" * row["lora"],
            }
        )
    print(text_table(table))


if __name__ == "__main__":
    show_rules()
