"""Going on from a base that was annealed to the end, or was not: what is learned and forgotten.

usage: python benchmarks/annealed.py [WORKSPACE]

A small model learns one synthetic language; two bases are kept: annealed to a rate of nought, and
the same run before that decay. Each goes on with a related language, with and without replay, by
the choices there are for its rate; all end with a decay to a tenth of the rate that they began
with. Some twenty minutes on an idle core; what is finished is not done again. The table also goes
to the file of the same name beside this script. That of 21 November 2026 has a third base too, at
the plateau of a schedule that is gone.
"""

import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from tongues.core.launch import open_launcher
from tongues.recipe import load_recipe
from tongues.runs.record import run_rows
from tongues.text.tokens import prepare_tokens
from tongues.train import RunPlan, run_of_recipe
from tongues.train.study import run_all
from tongues.train.work import open_work

RATE = 8e-3
RECIPE = f"""\
name: annealed
text:
  synthetic:
    seed: 7
    size: 12 MB
    languages: {{qaa: {{}}, qab: {{parent: qaa, divergence: 0.4}}}}
tokens: {{vocab_size: 512, held_out: 12k tokens}}
model: {{shape: 0.1M}}
train:
  budget: 2M tokens
  batch: 2048 tokens
  context: 128 tokens
  learning_rate: {RATE}
  schedule: wsd
  mixture: {{qaa: 100%}}
  num_evals: 24
  threads: 1
"""
# The two bases; the second is the first at the step in which its decay begins.
BASES = {
    "annealed": {"schedule": "wsd", "min_learning_rate": "0%"},
    "before": {"schedule": "{name: wsd, decay: 0%}", "budget": "1.6M tokens", "warmup": "6.25%"},
}
# How each goes on: by the name it has in the table, its base, peak and warm-up.
CHOICES = {
    "annealed, full rate again": ("annealed", 1.0, "5%"),
    "annealed, half of it": ("annealed", 0.5, "5%"),
    "annealed, a tenth of it": ("annealed", 0.1, "5%"),
    "before its decay, full rate": ("before", 1.0, "0%"),
}
REPLAY = (0.0, 0.2)
SHOWN = (0.1, 0.3, 1.0)  # shares of the continued run that the table tells


def plan_of(path: Path, **settings: Any) -> RunPlan:
    """A run of the recipe with other settings."""
    return run_of_recipe(
        open_work(load_recipe(path, [f"train.{k}={v}" for k, v in settings.items()]))
    )


def plans(path: Path) -> Iterator[RunPlan]:
    """Bases, and what goes on from them."""
    for name, settings in BASES.items():
        yield plan_of(path, run=f"base-{name}", **settings)
    for number, (base, share, warmup) in enumerate(CHOICES.values()):
        for replay in REPLAY:
            yield plan_of(
                path,
                run=run_name(number, replay),
                base=f"{{model: base-{base}, languages: [qaa]}}",
                mixture="{qab: 100%}",
                replay=f"{{qaa: {replay}}}" if replay else "{}",
                budget="1M tokens",
                learning_rate=share * RATE,
                warmup=warmup,
            )


def run_name(choice: int, replay: float) -> str:
    """The name of a continued run."""
    return f"on-{choice}-replay-{replay * 100:.0f}"


def main(workspace: Path) -> None:
    """Train, and print the table."""
    workspace.mkdir(parents=True, exist_ok=True)
    path = workspace / "recipe.yaml"
    path.write_text(RECIPE)
    prepare_tokens(load_recipe(path), workspace, print)
    run_all(list(plans(path)), workspace, launcher=open_launcher(workers=1))
    rows = run_rows([workspace / "runs"])
    lines = list(told(rows))
    print("\n".join(lines))
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


def curve(rows: list[dict[str, Any]], run: str, lang: str) -> list[tuple[int, float]]:
    """(tokens, nats per token) of a run on a language, through training."""
    return [(r["tokens"], r["loss"]) for r in rows if r["run"] == run and r["lang"] == lang]


def told(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The table: the loss on both languages at some shares of the run."""
    yield f"{date.today()}  held-out nats per token on the new language (on the old one)"
    for name in BASES:
        before = (curve(rows, f"base-{name}", lang)[-1][1] for lang in ("qab", "qaa"))
        yield "base {:32}{:6.3f} ({:.3f})".format(name, *before)
    for replay in REPLAY:
        yield f"\nreplay {replay:.0%}" + "".join(f"{f'{s:.0%}':>17}" for s in SHOWN)
        for number, name in enumerate(CHOICES):
            run = run_name(number, replay)
            new, old = (curve(rows, run, lang) for lang in ("qab", "qaa"))
            cells = ""
            for share in SHOWN:
                at = max(i for i, (tokens, _) in enumerate(new) if tokens <= share * new[-1][0])
                cells += f"{new[at][1]:9.3f} ({old[at][1]:.3f})"
            yield f"{name:28}{cells}"


if __name__ == "__main__":  # the processes of the runs import this file too
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("build/annealed"))
