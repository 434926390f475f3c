"""One real base brought to two real languages, with the forecast written down before the result.

    python benchmarks/real_case/case.py FOLDER [STAGE]

SmolLM2-135M, Swahili and Chinese, English replay, on two cores: with the base's own tokenizer
(`own.yaml`, runs named `-own`) and with 3,000 new tokens (`case.yaml`). FOLDER gets text, models
and runs; it needs `models/smollm2`, as made by `python -m tongues.models.smollm2`.
Stages: prepare, pilots, forecast, runs, experts, evaluate, table, scores; without one, all
in this order. Finished runs are kept and unfinished ones resume. `forecast.json` next to this file
is what it wrote before the long runs, `case.txt` what `table` printed after them, `scores.txt` what
`scores` did.
"""

import os
import sys
from datetime import date
from pathlib import Path

import numpy as np

import tongues
from tongues.core.estimate import Estimate
from tongues.core.files import read_json, read_lines, write_json
from tongues.core.pages import text_table
from tongues.core.pages.numbers import fixed, number
from tongues.evaluate.evaluation import read_evaluation
from tongues.runs.record import read_run

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "../shared/data"
TARGETS = ("sw", "zh")
PILOTS = (8192, 16384, 24576, 32768)  # tokens
LONG, SHORT = 131072, 32768
SHARES = (0, 5, 20, 50)  # percent of replay
TOKENIZERS = ("-own", "")  # the base's, and the base's with new tokens
LONG_RUNS = [f"{lang}-{LONG // 1024}k-20{more}" for more in TOKENIZERS for lang in TARGETS]
# These came later, to test the forecast once more: language and recipe.
LATER = {"tr": "turkish", "vi": "more", "ru": "more", "es": "again"}
FORECAST = [(lang, more) for more in TOKENIZERS for lang in TARGETS]
FORECAST += [(lang, "-own") for lang in LATER]
NAMES = {"sw": "Swahili", "zh": "Chinese", "en": "English"}


def prepare() -> None:
    """Text, tasks, and tokens of both tokenizers."""
    for name, place in {"text": DATA / "text", "tasks": DATA / "eval"}.items():
        if not Path(name).exists():
            Path(name).symlink_to(place.resolve())
    for recipe in ("case", "own", *dict.fromkeys(LATER.values())):
        tongues.prepare(HERE / f"{recipe}.yaml")


def continued(lang: str, tokens: int, share: int = 20, seed: int = 1, more: str = "") -> str:
    """Train a language for that many tokens with a share of English; the run's name."""
    name = f"{lang}-{tokens // 1024}k-{share}" + more + f"-s{seed}" * (seed > 1)
    changes = [f"train.run={name}", f"train.mixture={{{lang}: 100%}}"]
    changes += [f"train.budget={tokens} tokens", f"train.seed={seed}"]
    changes += [f"train.replay={{en: {share}%}}" if share else "train.replay={}"]
    if more.endswith("-lora"):  # at three times the rate: at ten times the loss rises
        changes += ["train.trainable=lora", "train.learning_rate=1.0e-3"]
    if tokens == LONG and seed == 1:
        changes += ["train.num_evals=12"]  # also where the short runs end
    recipe = LATER.get(lang, "own" if more.startswith("-own") else "case")
    tongues.train(HERE / f"{recipe}.yaml", changes)
    return name


def pilots() -> None:
    """Four short runs of each language and tokenizer."""
    for lang, more in FORECAST:
        for tokens in PILOTS:
            continued(lang, tokens, more=more)


def predicted(lang: str, more: str) -> tuple[float, Estimate]:
    """The base's loss on a language, and what a law of its short runs says of the long one."""
    law = tongues.fit([f"runs/{lang}-{n // 1024}k-20{more}" for n in PILOTS]).laws[0]
    start = float(law.rows.variables["S"][0]) if law.rows else 0.0
    return start, law.predictor(1000)(D=float(LONG), S=start).estimates[0]


def by_a_line(lang: str, more: str) -> float:
    """What a straight line over the logarithm of the tokens of the short runs says instead."""
    losses = [ends(f"{lang}-{n // 1024}k-20{more}")[2][lang] for n in PILOTS]
    return float(np.polyval(np.polyfit(np.log(PILOTS), losses, 1), np.log(LONG)))


def forecast() -> None:
    """What the long runs will end at, by a law of the pilots of each language and tokenizer.

    What was written before is kept: those runs are trained.
    """
    path = HERE / "forecast.json"
    kept = read_json(path) if path.is_file() else {}
    for lang, more in FORECAST:
        name = f"{lang}-{LONG // 1024}k-20{more}"
        if name in kept:
            continue
        start, one = predicted(lang, more)
        nats = {"start": start, "nats": one.value, "low": one.low, "high": one.high}
        kept[name] = {"date": date.today().isoformat()} | nats
        print(name, kept[name])
    write_json(path, kept)


def runs() -> None:
    """The long runs with two seeds, LoRA, and a study of replay on Swahili with two seeds."""
    for lang in LATER:
        continued(lang, LONG, more="-own")
    for more in TOKENIZERS:
        for seed in (1, 2):
            for lang in TARGETS:
                continued(lang, LONG, seed=seed, more=more)
        continued("sw", LONG, more=more + "-lora")
        for seed in (1, 2):
            for share in SHARES:
                continued("sw", SHORT, share, seed, more)


def experts() -> None:
    """An expert of each language and one model of all, on the tokens of two short runs."""
    for recipe in ("own", "case"):
        extend = ["tokens.extend=null"] * (recipe == "own")
        tongues.experts.train(HERE / "experts.yaml", [f"name={recipe}", *extend])


def evaluate() -> None:
    """The base and the long runs: held-out text by source, and XCOPA."""
    models = ["models/smollm2", *LONG_RUNS]
    again = [f"{name}-s2" for name in LONG_RUNS if name.endswith("-own")]
    tongues.evaluate([*models, *again], text="case", limit=20, dtype="bf16", name="text")
    tongues.evaluate(
        models, tasks=["xcopa:sw,zh"], data="tasks", limit=200, dtype="bf16", name="tasks"
    )


def evaluations(name: str) -> dict[int, dict[str, dict]]:
    """Of a run, by tokens read and language."""
    found: dict[int, dict[str, dict]] = {}
    for row in read_lines(Path("runs", name, "evals.jsonl")):
        found.setdefault(row["tokens"], {})[row["lang"]] = row
    return found


def ends(name: str) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Bits per byte by language before the run and after, and nats per token after."""
    found = evaluations(name)
    before, after = found[min(found)], found[max(found)]
    bits = [{lang: row["bits_per_byte"] for lang, row in of.items()} for of in (before, after)]
    return bits[0], bits[1], {lang: row["loss"] for lang, row in after.items()}


def english() -> str:
    """What a law of forgetting of short runs in Swahili says of English after long ones."""
    short = [f"sw-{n // 1024}k-20-own" for n in PILOTS]
    short += [f"sw-{SHORT // 1024}k-{share}-own" for share in SHARES if share != 20]
    law = next(x for x in tongues.fit([f"runs/{x}" for x in short]).laws if x.form == "forgetting")
    start = float(law.rows.variables["S"][0]) if law.rows else 0.0
    one = law.predictor(1000)(D=float(LONG), r=0.2, S=start).estimates[0]
    after = ", ".join(
        f"{name} {ends(name)[2]['en']:.3f}" for name in (LONG_RUNS[0], f"{LONG_RUNS[0]}-s2")
    )
    return f"English, by a law of seven short runs in Swahili: {number(one, fixed(3))}; {after}"


def table() -> None:
    """Forecasts and outcomes, every finished run, and long runs where short ones end."""
    forecasts, rows = read_json(HERE / "forecast.json"), []
    for lang, more in FORECAST:
        name = f"{lang}-{LONG // 1024}k-20{more}"
        one, end = forecasts[name], ends(name)[2][lang]
        kept = all(Path(f"runs/{lang}-{n // 1024}k-20{more}").is_dir() for n in PILOTS)
        rows.append(
            {
                "run": name,
                "forecast of": one["date"],
                "nats per token": f"{one['nats']:.3f} [{one['low']:.3f}, {one['high']:.3f}]",
                "outcome": f"{end:.3f}",
                "within": "yes" if one["low"] <= end <= one["high"] else "no",
                "by the law of today": number(predicted(lang, more)[1], fixed(3)) if kept else "",
                "by a line": f"{by_a_line(lang, more):.3f}" if kept else "",
            }
        )
    print(text_table(rows))
    print(english())
    rows = []
    for record in sorted(Path("runs").glob("*/run.json")):
        name, run = record.parent.name, read_run(record.parent)
        if run.status == "finished":
            before, after, _ = ends(name)
            row = {
                "run": name,
                "tokens": f"{run.tokens:,}",
                "replay": f"{run.roles.replay_share:.0%}",
            }
            for lang in ("en", *TARGETS, *LATER):
                change = f"{before[lang]:.3f} → {after[lang]:.3f}" if lang in before else ""
                row[f"{lang}, bits"] = change
            rows.append(row)
    print(text_table(rows))
    rows = []
    for name in [*LONG_RUNS, *(f"{lang}-{LONG // 1024}k-20-own" for lang in LATER)]:
        for tokens in PILOTS:
            short = name.replace(f"{LONG // 1024}k", f"{tokens // 1024}k")
            on_the_way = evaluations(name).get(tokens)
            if on_the_way and (Path("runs") / short).is_dir():
                lang = name[:2]
                end = ends(short)[2][lang]
                row = {"after tokens": f"{tokens:,}", "run": name, "nats": on_the_way[lang]["loss"]}
                row |= {"short run": short, "its end": end, "difference": row["nats"] - end}
                rows.append({k: f"{v:.3f}" if isinstance(v, float) else v for k, v in row.items()})
    print(text_table(rows))


def scores() -> None:
    """What each long run changed, by language and source, and its scores on XCOPA."""
    text = read_evaluation(Path("evaluations/text")).texts["case"]
    rows = []
    for part in filter(None, (text, text.by_source)):
        for one in part.compared:
            for lang, change in one.languages.items():
                before = part.losses[one.other][lang]
                rows.append(
                    {
                        "run": one.model,
                        "text": lang,
                        "documents": str(before.documents),
                        "before": f"{before.bits_per_byte.value:.3f}",
                        "change, bits per byte": number(change, fixed(3)),
                    }
                )
    print(text_table(rows))
    rows = []
    for name, task in read_evaluation(Path("evaluations/tasks")).tasks.items():
        for one in task.compared:
            for lang, change in one.languages.items():
                row = {"run": one.model, "task": f"{name} {lang}"}
                rows.append(row | {"change, points": number(change, lambda x: f"{x:.1%}")})
    print(text_table(rows))


STAGES = {
    x.__name__: x for x in (prepare, pilots, forecast, runs, experts, evaluate, table, scores)
}

if __name__ == "__main__":
    place, *chosen = sys.argv[1:]
    Path(place).mkdir(parents=True, exist_ok=True)
    os.chdir(place)
    for name in chosen or STAGES:
        STAGES[name]()
