"""What the plan advises published projects: continue, measure first, or train from scratch.

    python benchmarks/projects.py > benchmarks/projects.txt

Reads the shared table of projects beside the project. Every project whose size and tokens it gives
is asked with its own base; a model from scratch is asked with a base of its time. Advice is against
what worked where it says scratch and continuing worked, or says continue and models from scratch
won. "measure" is to continue where the base's loss on the language is not low yet. Beside it is the
simplest rule: always continue.
"""

import csv
import re
from collections import Counter
from pathlib import Path

import tongues
from tongues.core.errors import UserError
from tongues.core.pages import text_table
from tongues.plan import known_bases

TABLE = Path(__file__).parents[2] / "shared/data/published/projects.csv"
SCALE = {"M": 1e6, "B": 1e9, "T": 1e12}
# Of the base of a model from scratch, by the year: what others of that time continued.
OF_THE_TIME = {"2023": "meta-llama/Llama-2-7b-hf", "2024": "meta-llama/Llama-3.1-8B"}
OF_THE_TIME["2025"] = OF_THE_TIME["2024"]
# Read off the outcome columns; everything else with an outcome gained by continuing.
NO_GAIN = {"occiglot-7b-eu5", "MODA"}  # all weights, the base's own tokenizer, and no gain
OTHER_METHOD = ("lora", "trans-tokenization")  # the plan advises neither
# tests and perplexity part ways, or there is no figure from before
UNCLEAR = {"GEITje-7B", "NorMistral-11b-warm", "Taiwan-LLM v1 13B / v2 7B,13B"}
UNCLEAR |= {"Bridging the Bosphorus (Mistral 7B LoRA; Hamza scratch)"}
FROM_SCRATCH = {"Sarashina2.2-3B": "won", "EuroLLM-9B": "mixed"}  # the others lost


def amount(text: str) -> float | None:
    """The first amount of a cell, such as `about 10.5B (…)`."""
    match = re.search(r"([\d.]+)\s*([MBT])\b", text)
    return float(match[1]) * SCALE[match[2]] if match else None


def base_of(row: dict[str, str]) -> str:
    """The base as `--base` takes it."""
    model = re.sub(r"[^a-z0-9.]+", "", row["base_model"].split("(")[0].lower())
    for name in known_bases():
        short = re.sub(r"[^a-z0-9.]+", "", name.split("/")[-1].lower())
        for suffix in ("hf", "v0.1", "base", "base2407", "2509", "meta"):
            short = short.removesuffix(suffix).removeprefix(suffix)
        if short == model.removesuffix("v0.1").removesuffix("base"):
            return name
    tokens = amount(row["base_tokens"])
    return f"{model}={row['base_params'].split('/')[0]}" + (f"@{tokens:g}" if tokens else "")


def worked(row: dict[str, str]) -> str:
    """`continue`, `scratch`, `neither` or, where nothing clear was read, nothing."""
    if row["kind"] == "scratch":
        won = FROM_SCRATCH.get(row["project"], "lost")
        return {"won": "scratch", "lost": "continue"}.get(won, "")
    if row["project"] in NO_GAIN:
        return "neither"
    if row["project"] in UNCLEAR or any(word in row["kind"].lower() for word in OTHER_METHOD):
        return ""
    return "continue" if row["outcome_target"] else ""


def asked(row: dict[str, str]) -> str:
    """The advice in a word, and whether a model from scratch stands first."""
    size, tokens = amount(row["base_params"]), amount(row["cpt_tokens"])
    assert size
    assert tokens
    language = row["languages_bcp47"].split(",")[0].split(" ")[0]
    scratch = row["kind"] == "scratch"
    base = OF_THE_TIME[row["year"]] if scratch else base_of(row)
    budget = f"{6 * size * tokens:g} FLOPs" if scratch else f"{tokens:g} tokens"
    unique, text = amount(row["target_tokens_unique"]), None
    if unique and unique < tokens and "e.g." not in row["target_tokens_unique"]:
        text = f"{unique:g} tokens"
    languages = [] if language == "mul" else [language]
    try:
        plan = tongues.plan(budget=budget, bases=[base], language=languages, available_text=text)
    except UserError as error:
        return f"refused ({error.code})"
    return plan.decision.code


def main() -> None:
    """Ask every project, and print the table."""
    rows, counts = [], Counter[str]()
    with TABLE.open(encoding="utf-8") as lines:
        table = list(csv.DictReader(lines))
    for row in table:
        clear = worked(row)
        facts = amount(row["base_params"]) and amount(row["cpt_tokens"])
        if not (facts and clear) or "memory only" in row["certainty"]:
            continue
        advice = asked(row)
        verdict = "right" if advice in (clear, "measure") else "AGAINST"
        verdict = "declined" if advice.startswith(("refused", "either")) else verdict
        if advice == "measure" and clear == "scratch":
            verdict = "AGAINST"
        counts[verdict] += 1
        counts["always"] += clear == "continue"
        names = ("project", "base_model", "base_params", "cpt_tokens")
        shown = [row[name].split(" (")[0][:28] for name in names]
        cells = [*shown, clear, advice, verdict]
        heads = ("project", "base", "size", "tokens", "worked", "advice", "")
        rows.append(dict(zip(heads, cells, strict=True)))
    total = len(rows)
    print(f"{total} projects: {counts['right']} advised what worked, {counts['AGAINST']} against, ")
    print(f"{counts['declined']} not decided or refused ({counts['declined'] / total:.0%}); ")
    print(f"always to continue would have been right for {counts['always']}\n")
    print(text_table(rows))


if __name__ == "__main__":
    main()
