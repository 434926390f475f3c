"""SmolLM2-135M, which knows English, brought to Arabic: a case of real size.

    python benchmarks/gpu/case/case.py FOLDER [STAGE ...]

The small end, on a processor and in this order: prepare, bases, small, short, shares, table;
`bases:5M small:5M` are a larger small model.
The large end, on a GPU without a network: `large`, or one of its runs such as `large:new-10`, then
`compare` and `outcome`; `large:new-10:8192` rehearses one on so many tokens. FOLDER is the
workspace: text, models, tokens and runs. `prepare` needs `models/smollm2` in it, as made by
`python -m tongues.models.smollm2`; the large end needs that, `tokens/own` and `tokens/new`, and no
text. `figure` draws what came of it. Finished runs are kept and unfinished ones resume.
"""

import csv
import os
import sys
from pathlib import Path

from runs import ends, finished, run_table

import tongues
from tongues.core.files import read_json
from tongues.core.pages import Figure, text_table
from tongues.core.pages.axes import Row, colour, linear, logs
from tongues.core.pages.plots import dots, line, panel
from tongues.core.pages.write import write_figures

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[2] / "../shared/data"
# Of the recipes, under `text` in the workspace and under DATA.
TEXT = ("gpu/arabic.jsonl.zst", "gpu/english.jsonl.zst", "text/mdn/en.jsonl.gz")
TEXT += ("text/bible/en.jsonl.gz",)
SHAPE = "1.4M"
AMOUNTS = (1_048_576, 3_145_728, 9_437_184)  # tokens of Arabic of the small models
SHORT = (4096, 8192, 16384, 65536)  # tokens of the small model's short runs
# Runs of SmolLM2, the most worth first: tokenizer, tokens and percent of replay.
SHORT_RUNS = (
    ("own", 8192, 10),
    ("new", 8192, 10),
    ("own", 16384, 10),
    ("own", 4096, 10),
    ("new", 16384, 10),
    ("new", 4096, 10),
    ("own", 32768, 10),
    ("new", 2048, 10),
    ("new", 32768, 10),
)
SHARES = (("own", 8192, 0), ("own", 8192, 25), ("new", 8192, 0), ("new", 8192, 25))
# Runs of the large end, the same way: tokenizer (SmolLM2's own, or with 8,000 new tokens), and
# percent of replay or from scratch.
LARGE = ("new-10", "own-10", "new-0", "new-scratch", "own-0", "new-25", "own-25", "own-scratch")
RECIPES = {"own": "case", "new": "new"}
RESULTS = "2026-11-28-h200-case"  # the runs that `figure` draws
SERIES = {"large-new-10": "10 % replay", "large-new-0": "no replay"}
SERIES |= {"large-new-scratch": "scratch"}
DOCUMENTS = 40  # of each language that `compare` scores
FROM_SCRATCH = ["train.base=null", "train.replay={}", "model.tied_embeddings=true"]
FROM_SCRATCH += ["model.new_embeddings=distilled"]


def amount(tokens: int) -> str:
    """Such as 64k or 3M."""
    return f"{tokens >> 20}M" if tokens >= 1 << 20 else f"{tokens >> 10}k"


def prepare() -> None:
    """Tokens of SmolLM2's tokenizer, with new ones, and of the small base."""
    Path("text").mkdir(exist_ok=True)
    for name in ("gpu", "text"):
        if not Path("text", name).exists():
            Path("text", name).symlink_to((DATA / name).resolve())
    for recipe in ("case", "new", "small-en"):
        tongues.prepare(HERE / f"{recipe}.yaml")


def bases(shape: str = SHAPE) -> None:
    """A small model of English."""
    changes = [f"train.run=base-{shape}", f"model.shape={shape}"]
    tongues.train(HERE / "small-en.yaml", changes)


def small(shape: str = SHAPE) -> None:
    """The small model brought to Arabic, and one from scratch; and runs as short as SmolLM2's."""
    tongues.prepare(HERE / "small.yaml")
    for tokens in SHORT:
        more = ["train.batch=512 tokens", "train.num_evals=1"]
        _small_run(f"{shape}-{amount(tokens)}", tokens, [f"train.base=base-{shape}", *more])
    scratch = [*FROM_SCRATCH, f"model.shape={shape}", "train.learning_rate={0.2M: 5.5e-3}"]
    for tokens in AMOUNTS:
        name = f"{shape}-{amount(tokens)}"
        _small_run(f"{name}-continued", tokens, [f"train.base=base-{shape}"])
        _small_run(f"{name}-scratch", tokens, scratch)


def _small_run(name: str, tokens: int, changes: list[str]) -> None:
    own = [f"train.run={name}", f"train.budget={tokens} tokens"]
    tongues.train(HERE / "small.yaml", [*own, *changes])


def short() -> None:
    """Short runs of SmolLM2 with its tokenizer and with 8,000 new tokens."""
    for run in SHORT_RUNS:
        _short_run(*run)


def shares() -> None:
    """The same with other shares of English."""
    for run in SHARES:
        _short_run(*run)


def _short_run(tokenizer: str, tokens: int, share: int) -> None:
    changes = [f"train.run={tokenizer}-{amount(tokens)}-{share}"]
    changes += [f"train.budget={tokens} tokens"]
    changes += [f"train.replay={{en: {share}%}}" if share else "train.replay={}"]
    tongues.train(HERE / f"smollm2-{tokenizer}.yaml", changes)


def _stand_ins() -> None:
    """Empty files where there is no text: `train` reads tokens, and asks that the text is there."""
    for name in TEXT:
        path = Path("text", name)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()


def large(run: str = "", tokens: str = "") -> None:
    """The runs of the large end, or one of them; with so many tokens only to rehearse it."""
    _stand_ins()
    for name in [run] if run else LARGE:
        tokenizer, _, kind = name.partition("-")
        changes = [f"train.run=large-{name}"]
        if kind == "scratch":
            changes += [*FROM_SCRATCH, "model.shape=105M", "train.context=2048 tokens"]
            changes += ["train.learning_rate=8.0e-4", "train.warmup=4%"]  # Step law, see README
        else:
            changes += [f"train.replay={{en: {kind}%}}" if int(kind) else "train.replay={}"]
        if tokens:
            changes += [f"train.run=rehearsal-{name}", f"train.budget={tokens} tokens"]
            changes += ["train.batch=4096 tokens", "train.eval_tokens=4k tokens"]
            changes += ["train.num_evals=1"]
        tongues.train(HERE / f"{RECIPES[tokenizer]}.yaml", changes)


def table() -> None:
    """Every finished run; `case.txt` is what this printed."""
    print(run_table())


def compare() -> None:
    """SmolLM2 and the large runs on the same held-out documents, with intervals."""
    done = [folder.name for folder, _ in finished() if folder.name.startswith("large-")]
    models = ["models/smollm2", *done]
    tongues.evaluate(models, text="tokens/new", limit=DOCUMENTS, name="case", dtype="bf16")


def outcome() -> None:
    """Forecasts and outcomes of the large runs, in bits per byte.

    The small runs were scored on less text and with a shorter context: a forecast is multiplied by
    how much higher or lower the base starts here.
    """
    rows: list[dict[str, str]] = []
    kept = read_json(HERE / "forecast.json")
    for run in LARGE:
        folder = Path("runs", f"large-{run}")
        if not (folder / "model").is_dir():
            continue
        for name, lang in {"ar": "ar", "en": "en-US"}.items():
            if not (one := kept[folder.name].get(name)):
                continue
            before, end = (row["bits_per_byte"] for row in ends(folder, lang))
            factor = before / one.get("start", before)
            low, value, high = (factor * one[key] for key in ("low", "value", "high"))
            row = {"run": folder.name, "text": name, "start": f"{before:.3f}"}
            row |= {"forecast": f"{value:.3f} [{low:.3f}, {high:.3f}]", "outcome": f"{end:.3f}"}
            rows.append(row | {"within": "yes" if low <= end <= high else "no"})
    print(text_table(rows))


def figure() -> None:
    """Losses along the large runs, from the kept results, into the docs."""
    rows: list[Row] = []
    with (HERE.parent / "results" / f"{RESULTS}.csv").open(encoding="utf-8") as file:
        for one in csv.DictReader(file):
            if one["step"] != "0" and one["run"] in SERIES:
                amounts = {"tokens": float(one["tokens"]), "bits": float(one["bits_per_byte"])}
                rows.append({"series": SERIES[one["run"]], "language": one["language"], **amounts})
    names = list(SERIES.values())
    shown = {"ar": ("Arabic, the target", names), "en-US": ("English, not replayed", names[:2])}
    panels = []
    for lang, (title, series) in shown.items():
        part = [x for x in rows if x["language"] == lang and x["series"] in series]
        x = logs("tokens", "training tokens", part)
        y = linear("bits", "bits per byte, held out", part)
        tint = colour(["scratch", "no replay", "10 % replay"], series)
        dashed = [each for each in part if each["series"] == names[0]]  # it hides another
        plain = [each for each in part if each["series"] != names[0]]
        drawn = line(plain, x, y, tint, "series"), dots(part, x, y, tint, size=30)
        over = line(dashed, x, y, tint, width=4, strokeDash=[6, 5])
        panels.append(panel(title, *drawn, over, height=260))
    drawn = Figure("case", "", "", tuple(panels), tuple(rows))
    write_figures([drawn], HERE.parents[2] / "docs/images")


SMALL_END = (prepare, bases, small, short, shares, table)
STAGES = {x.__name__: x for x in (*SMALL_END, large, compare, outcome, figure)}

if __name__ == "__main__":
    place, *chosen = sys.argv[1:]
    Path(place).mkdir(parents=True, exist_ok=True)
    os.chdir(place)
    for stage in chosen or [x.__name__ for x in SMALL_END]:
        name, *more = stage.split(":")
        STAGES[name](*more)
