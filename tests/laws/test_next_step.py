"""What comes after a fit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tongues
from tests.laws.made import SMALL
from tests.laws.test_targets import PLAIN, run_of
from tests.printed import DOCS
from tongues.laws import Law, fit
from tongues.laws.answer import FitAnswer, plan_command
from tongues.laws.targets import fit_targets


def test_a_plan_is_of_a_budget_near_the_runs() -> None:
    N, D = (of.ravel() for of in np.meshgrid(np.geomspace(1e5, 3e6, 6), np.geomspace(1e7, 1e8, 4)))
    noise = np.exp(0.002 * np.random.default_rng(0).standard_normal(len(N)))
    law = fit("chinchilla", N=N, D=D, loss=Law("chinchilla", SMALL).loss(N, D) * noise, draws=60)
    most = 10 * 6 * 3e6 * 1e8
    said = plan_command([law], Path("my law.json"))
    assert said == f"tongues plan --law 'my law.json' --budget '{most:.0e} FLOPs'".replace(
        "e+", "e"
    )


def test_the_language_is_named_where_there_are_several() -> None:
    other = [run_of(size, target="yy", wrong=1.3) for size in np.geomspace(1e5, 3e6, 6)]
    both = [law for one in fit_targets([*PLAIN, *other], draws=20) for law in one.all]
    assert " --language yy --budget " in plan_command(both, Path("l.json"))
    alone = [law for law in both if law.target == "xx"]
    assert "--target" not in plan_command(alone, Path("l.json"))


def test_laws_of_continued_training_alone_ask_for_a_base() -> None:
    law = Law("chinchilla", SMALL, strategy="cpt", range={"N": (1e6, 1e8), "D": (1e8, 1e10)})
    said = plan_command([law], Path("l.json"))
    assert said == "tongues plan --law l.json --base NAME=SIZE --budget '6e19 FLOPs'"


def test_runs_that_pin_down_no_law_are_to_become_more() -> None:
    few = [run for run in PLAIN if run.params < 3e5]
    answer = FitAnswer(targets=tuple(fit_targets(few, draws=20)))
    assert all(law.loose for law in answer.laws) and not plan_command(answer.laws, Path("l.json"))
    more = "tongues study RECIPE 'study.shapes=[…]' 'study.budgets=[…]'"
    assert answer.next(Path("runs/rep"), Path("l.json")) == more
    enough = FitAnswer(targets=tuple(fit_targets(PLAIN, draws=20)))
    assert enough.next(Path("runs/rep"), None) == "tongues report runs/rep"
    assert enough.next(Path("runs/rep"), Path("law.json")).startswith("tongues plan --law law.json")


@pytest.mark.parametrize(
    "columns",
    [{"loss": "loss_bits"}, {"params": "tokens", "tokens": "params"}],
    ids=["not nats", "swapped"],
)
def test_a_law_of_misread_columns_is_not_to_be_written(tmp_path: Path, columns: Any) -> None:
    table = tmp_path / "runs.csv"
    lines = (DOCS / "examples/runs.csv").read_text().splitlines()
    rows = [f"{line},{line.rpartition(',')[2]}" for line in lines if "cpt" not in line]
    table.write_text("\n".join([rows[0].removesuffix("loss") + "loss_bits", *rows[1:]]))
    answer = tongues.fit(table, law="chinchilla", draws=0, columns=columns)
    for out in (None, Path("law.json")):
        assert answer.next(table, out) == "correct the columns as the cautions say, and fit again"
