"""Forms for the loss on the source language under replay, compared on runs of synthetic languages.

usage: python benchmarks/forgetting.py [WORKSPACE] [--runs DIR]

Without --runs it trains a study in WORKSPACE (build/forgetting): 60 runs of four sizes, two targets
and seven replay shares with 48 shorter ones; some twenty minutes on two idle cores, and what is
finished is not done again. DIR holds runs of such a study. Each form is fitted by the same
objective, Huber of the log loss, on the losses at the ends of runs of several lengths; the law also
on those through training (past the warm-up), to see how far off it then is at the ends. The result
also goes to the file of the same name beside this script.
"""

import argparse
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np

from tongues.laws.forms import CurvedForm, Values
from tongues.laws.forms.forgetting import FORGETTING
from tongues.laws.observed import RunCurves, gather_runs
from tongues.laws.solver import pose, solve
from tongues.recipe import load_recipe
from tongues.runs.record import run_rows
from tongues.text.tokens import prepare_tokens
from tongues.train.study import plan_runs, run_all
from tongues.train.work import open_work

RECIPE = """\
name: forget
text:
  synthetic:
    seed: 3
    size: 6 MB
    languages: {qaa: {}, qab: {parent: qaa, divergence: 0.2}, qac: {parent: qaa, divergence: 0.5}}
tokens: {vocab_size: 1024, held_out: 12288 tokens}
train:
  budget: 800k tokens
  batch: 512 tokens
  context: 128 tokens
  learning_rate: 4.0e-3
  num_evals: 24
study:
  source: qaa
  targets: [qab, qac]
  shapes: [0.05M, 0.1M, 0.2M, 0.4M]
  replay: [0%, 1%, 5%, 10%, 20%, 50%, 80%]
  seeds: [1]
  strategies: [cpt]
  source_budgets: [600k tokens]
"""
SHORTER = ("50k", "100k", "200k", "400k")  # tokens of runs of the size 0.1M
REPLAY_OF_SHORTER = "0%, 5%, 20%, 50%, 80%, 99%"
SETTLED = 0.1  # share of a run before which its losses are warm-up
FOLDS = 7
NEAR, LATE = 1e5, 0.5  # scale of tokens and parameters; share of the tokens that is predicted
STARTS = 1000

Curve = Callable[[Values, Values], np.ndarray]
Spans = dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Rows:
    """Evaluations: the variables of every form, the loss, and the run by number."""

    variables: Mapping[str, np.ndarray]  # N, D, r, S
    loss: np.ndarray
    run: np.ndarray

    def take(self, mask: np.ndarray) -> "Rows":
        """The rows of a mask."""
        kept = {name: values[mask] for name, values in self.variables.items()}
        return Rows(kept, self.loss[mask], self.run[mask])


def power_rise(p: Values, v: Values) -> np.ndarray:
    """After Kalajdzievski 2024: forgetting is a power of the tokens of the target."""
    return v["S"] + p["A"] * ((1.0 - v["r"]) * v["D"] / NEAR) ** p["b"]


def injection(p: Values, v: Values) -> np.ndarray:
    """After Bethune and others 2025, S + E + A D^beta / ((1 + B r) N)^alpha."""
    size = (1.0 + p["B"] * v["r"]) * v["N"] / NEAR
    return v["S"] + p["E"] + p["A"] * (v["D"] / NEAR) ** p["beta"] / size ** p["alpha"]


def d_cpt(p: Values, v: Values) -> np.ndarray:
    """After Que and others 2024, r the share of the source."""
    learned = p["A"] * (v["N"] / NEAR) ** -p["alpha"]
    learned = learned + p["B"] * v["r"] ** p["eta"] * (v["D"] / NEAR) ** -p["beta"]
    return p["E"] + learned + p["C"] * (v["r"] + p["epsilon"]) ** -p["gamma"]


def _fixed(**values: float) -> Curve:
    held = {name: np.asarray(value) for name, value in values.items()}
    return lambda p, v: FORGETTING.loss(
        {name: np.asarray(value) for name, value in p.items()} | held, v
    )


TOKENS, BELOW, SMALL, POSITIVE = (1e3, 1e9), (0.02, 2.5), (1e-3, 3.0), (1e-3, 30.0)
LAW: Spans = {"F": (1.0, 1e7), "A": (1e-3, 10.0), "kappa": SMALL, "W": (1e-4, 3.0), "B": TOKENS}
FORMS: dict[str, tuple[Curve, Spans]] = {
    "power rise (Kalajdzievski)": (power_rise, {"A": POSITIVE, "b": SMALL}),
    "injection (Bethune)": (
        injection,
        {"E": (1e-4, 1.0), "A": POSITIVE, "beta": SMALL, "B": (1e-2, 1e5), "alpha": SMALL},
    ),
    "D-CPT (Que)": (
        d_cpt,
        {"E": BELOW, "A": POSITIVE, "alpha": SMALL, "B": POSITIVE, "eta": SMALL, "beta": SMALL}
        | {"C": POSITIVE, "epsilon": (1e-5, 1.0), "gamma": SMALL},
    ),
    "THE LAW": (_fixed(beta=0.095), LAW),
    "without W": (_fixed(beta=0.095, W=0.0), {k: s for k, s in LAW.items() if k != "W"}),
    "kappa to 0: the log of it": (
        _fixed(beta=0.095, kappa=1e-6),
        {k: s for k, s in LAW.items() if k != "kappa"},
    ),
}


def fitted(name: str, rows: Rows, seed: int = 0) -> dict[str, float]:
    """The parameters of the lowest objective."""
    curve, spans = FORMS[name]
    low, high = np.log(np.array(list(spans.values()))).T
    starts = np.exp(low + (high - low) * np.random.default_rng(seed).random((STARTS, len(low))))
    form = CurvedForm(
        name=name,
        summary="",
        formula="",
        curve=curve,
        free=tuple(spans),
        variables=("N", "D", "r", "S"),
        spans=lambda variables, loss: spans,
        starts=lambda variables, loss: starts,
    )
    problem = pose(form, rows.variables, rows.loss)
    with np.errstate(all="ignore"):
        optimum = solve(problem, np.ones(len(rows.loss)), problem.context({}))
    return {key: float(value[0]) for key, value in problem.params(optimum.theta).items()}


def off(name: str, params: Mapping[str, float], rows: Rows) -> np.ndarray:
    """|log predicted − log measured| of each row, in per cent."""
    predicted = np.asarray(FORMS[name][0](params, rows.variables))
    return 100 * np.abs(np.log(predicted / rows.loss))


def held_out(name: str, rows: Rows, mask: np.ndarray) -> np.ndarray:
    """The errors on the rows of a mask of a form fitted without them."""
    return off(name, fitted(name, rows.take(~mask)), rows.take(mask))


def examined(name: str, rows: Rows) -> list[str]:
    """The cells of a form: its errors within, on left-out runs, and beyond."""
    runs = np.unique(rows.run)
    fold = np.random.default_rng(1).permutation(len(runs)) % FOLDS
    of_run: dict[int, float] = {}
    for one in range(FOLDS):
        mask = np.isin(rows.run, runs[fold == one])
        errors = held_out(name, rows, mask)
        of_run |= {run: errors[rows.run[mask] == run].mean() for run in runs[fold == one]}
    left_out = list(of_run.values())
    spread = statistics.stdev(left_out) / len(left_out) ** 0.5
    size, tokens, r = (rows.variables[key] for key in ("N", "D", "r"))
    late = tokens >= LATE * tokens.max()
    shares = np.unique(r)
    by_share = [held_out(name, rows, r == share).mean() for share in shares]
    inner = [error for share, error in zip(shares, by_share, strict=True) if 0 < share < r.max()]
    return [
        str(len(FORMS[name][1])),
        f"{off(name, fitted(name, rows), rows).mean():.2f}",
        f"{np.mean(left_out):.2f} ± {spread:.2f}",
        f"{held_out(name, rows, late).mean():.2f}",
        f"{np.mean(inner):.2f}",
        f"{by_share[0]:.1f}",
        f"{held_out(name, rows, size == size.max()).mean():.2f}",
    ]


def rows_of(runs: Sequence[RunCurves], *, ends: bool) -> Rows:
    """Losses on the source: those at the ends only, or all past the warm-up."""
    columns: list[tuple[float, ...]] = []
    for number, run in enumerate(runs):
        curve = run.curves[run.forgettable[0]]
        first = run.tokens if ends else SETTLED * run.tokens
        for D, loss in zip(curve.tokens, curve.loss, strict=True):
            if first <= D:
                columns.append((run.params, D, run.replay, curve.loss[0], loss, number))
    N, D, r, S, loss, number = np.array(columns).T
    return Rows({"N": N, "D": D, "r": r, "S": S}, loss, number)


def tables(runs: Sequence[RunCurves]) -> Iterator[str]:
    """Every form on the runs of each target."""
    head = f"{'':28}{'':>4}{'fit':>7}{'left-out runs':>15}{'later':>8}{'shares':>8}"
    head += f"{'r = 0':>8}{'largest':>9}"
    longest = max(run.tokens for run in runs)
    for target in sorted({run.target for run in runs}):
        of = [run for run in runs if run.target == target]
        rows = rows_of(of, ends=True)
        yield f"\n{target}, at the ends of runs: {len(rows.loss)} losses of {len(of)} runs"
        yield head
        for name in FORMS:
            cells = examined(name, rows)
            widths = (4, 7, 15, 8, 8, 8, 9)
            yield f"{name:28}" + "".join(
                f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)
            )
        params = fitted("THE LAW", rows)
        yield "the law: " + "  ".join(f"{key} {value:.3g}" for key, value in params.items())
        yield from answers(params | {"beta": 0.095}, float(np.median(rows.variables["S"])))
        yield from carried(of, longest)


def answers(params: Mapping[str, float], S: float) -> Iterator[str]:
    """What a user asks of the law, from a median seed."""
    for share in (0.0, 0.01, 0.05, 0.2, 0.5):
        tokens, loss = highest(params, r=share, S=S, D=1e7)
        what = f"{share:.0%} replay, up to 10M tokens"
        yield f"  from {S:.2f} with {what}: {loss:.2f} at {tokens:.3g}"
    back = [f"{least_replay(params, S, D, S):.0%} by {D:.0e}" for D in (3e5, 1e6, 3e6, 1e7)]
    yield f"  replay that comes back to {S:.2f}: {', '.join(back)} tokens (nan: none does)"


def least_replay(p: Mapping[str, float], loss: float, D: float, S: float) -> float:
    """The smallest replay share with which a run of D tokens ends at or below a source loss."""
    alone = (S + p["W"] * D / (p["F"] + D)) * (1.0 + D / p["B"]) ** -p["beta"]
    if loss < alone:  # even source text alone ends above it
        return float("nan")
    left = (1.0 + p["kappa"] * (loss - alone) / p["A"]) ** (-1.0 / p["kappa"])
    return max((left * (p["F"] + D) - p["F"]) / D, 0.0)


def highest(params: Mapping[str, float], r: float, S: float, D: float) -> tuple[float, float]:
    """Where the source loss of a run of at most D tokens is highest: tokens and nats per token."""
    tokens = np.geomspace(1e-9 * D, D, 20_000)
    variables = {"D": tokens, "r": np.full(1, r), "S": np.full(1, S)}
    losses = np.asarray(FORGETTING.loss(params, variables))
    best = int(losses.argmax())
    return (0.0, S) if losses[best] <= S else (float(tokens[best]), float(losses[best]))


def carried(of: Sequence[RunCurves], longest: float) -> Iterator[str]:
    """The law of losses through training, on the ends of shorter runs."""
    law = fitted("THE LAW", rows_of([run for run in of if run.tokens == longest], ends=False))
    for tokens in sorted({run.tokens for run in of}):
        rows = rows_of([run for run in of if run.tokens == tokens], ends=True)
        predicted = np.asarray(FORMS["THE LAW"][0](law, rows.variables))
        error = 100 * np.log(predicted / rows.loss)
        yield (
            f"fitted through training, it is off by {error.mean():+.1f} % at the ends of "
            f"{len(error)} runs of {tokens:,.0f} tokens"
        )


def train(workspace: Path) -> Path:
    """Train the study, or resume it; the folder of its runs."""
    workspace.mkdir(parents=True, exist_ok=True)
    path = workspace / "recipe.yaml"
    path.write_text(RECIPE)
    prepare_tokens(load_recipe(path), workspace, print)
    plans = plan_runs(open_work(load_recipe(path)))
    for budget in SHORTER:
        settings = ["study.shapes=[0.1M]", f"study.replay=[{REPLAY_OF_SHORTER}]"]
        settings += [f"train.budget={budget} tokens", "train.num_evals=10"]
        plans += [
            replace(plan, name=plan.name.replace("forget/", f"b{budget}/"))
            for plan in plan_runs(open_work(load_recipe(path, settings)))
            if plan.strategy == "cpt"  # they start from the source models of the study
        ]
    run_all(plans, workspace)
    return workspace / "runs"


def main() -> None:
    """Train or read the runs, print the tables and keep them beside this script."""
    parser = argparse.ArgumentParser()
    parser.add_argument("workspace", nargs="?", type=Path, default=Path("build/forgetting"))
    parser.add_argument("--runs", type=Path)
    chosen = parser.parse_args()
    folder = chosen.runs or train(chosen.workspace)
    lines = [
        f"{date.today()}  the source's loss under replay: |log predicted − log measured|, %",
        "fit: mean over the rows it was fitted on; left-out runs: seven folds, ± standard error",
        "over runs; later: the last half of the tokens from the first; shares: a replay share from",
        "the others, mean over inner ones; r = 0 and the largest size from the others",
    ]
    print("\n".join(lines))
    runs = [run for run in gather_runs(run_rows([folder])) if run.strategy == "cpt"]
    for line in tables(runs):
        print(line, flush=True)
        lines.append(line)
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":  # the processes of the runs import this file too
    main()
