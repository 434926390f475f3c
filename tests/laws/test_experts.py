"""Laws of ensembles: from runs of a known law, and from experts that were trained."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tongues
from tests.laws.made import view_of
from tongues.laws import Curve, Law
from tongues.laws.experts import fit_experts, worth_sentence
from tongues.laws.observed import RunCurves

TRUE = Law("experts", {"F": 1.8, "D_0": 3e5, "beta": 0.3, "G": 1.5})
LANGUAGES = ("qa", "qb", "qc", "qd")
START = 4.0


def ensemble(
    name: str,
    k: int,
    tokens: float,
    seed: int,
    steps: Sequence[float] = (0.0, 1.0),
    base: str = "seed",
    truth: Law = TRUE,
) -> list[RunCurves]:
    """The runs of k experts with as many languages each, as each of these sees them."""
    random, runs = np.random.default_rng([seed, k, int(tokens)]), list[RunCurves]()
    for number in range(k):
        own = LANGUAGES[number * 4 // k : (number + 1) * 4 // k]
        D = np.array(steps) * tokens
        for lang in own:
            loss = truth.loss(D=np.maximum(D, 1e-9), S=START, k=float(k))
            curve = Curve(D / k, 6e6 * D / k, loss * np.exp(0.003 * random.normal(size=len(D))))
            of: dict[str, Any] = {"strategy": "expert", "targets": own, "base_languages": ("qa",)}
            of |= {"shares": {lang: 1 / len(own)}, "seen": {lang: D / k / len(own)}}
            of |= {"seed": seed, "base": base}
            runs.append(view_of(f"{name}-e{number}-s{seed}", lang, {lang: curve}, **of))
    return runs


def study(
    lengths: Sequence[float] = (1e6, 4e6), counts: Sequence[int] = (1, 2, 4), truth: Law = TRUE
) -> list[RunCurves]:
    return [
        run
        for tokens in lengths
        for seed in (1, 2)
        for k in counts
        for run in ensemble(f"at-{tokens:g}/of-{k}", k, tokens, seed, truth=truth)
    ]


@pytest.fixture(scope="module")
def fitted():
    return fit_experts(study(), draws=40)


def test_what_experts_are_worth_is_recovered_for_each_language_and_the_mean(fitted):
    laws, refused = fitted
    assert [law.target for law in laws] == [*LANGUAGES, "qa+qb+qc+qd"] and refused == []
    mean = laws[-1]
    assert mean.params["G"] == pytest.approx(1.5, abs=0.05)
    low, high = mean.interval["G"]
    assert low < mean.params["G"] < high and mean.n_runs == 12
    assert mean.range["N"] == (1e6, 1e6) and mean.range["D"] == (1e6, 4e6)
    for k in (1, 2, 4):
        at = {"D": 1e7, "S": START, "k": float(k)}
        predicted = mean.predict(**at)
        real = float(TRUE.loss(**at))
        assert predicted.low[0] < real < predicted.high[0]
        assert predicted.point[0] == pytest.approx(real, rel=0.02)
    assert "4 experts are worth 2.2" in worth_sentence(mean)


def test_experts_begin_at_the_base_and_share_tokens():
    at = {"D": np.array([0.0, 1e6]), "S": START}
    one, four = TRUE.loss(**at, k=1.0), TRUE.loss(**at, k=4.0)
    assert one[0] == four[0] == START
    F, D_0, beta = (TRUE.params[name] for name in ("F", "D_0", "beta"))
    assert one[1] == pytest.approx(F + (START - F) * (1 + 1e6 / D_0) ** -beta)
    assert four[1] == pytest.approx(float(TRUE.loss(D=2.25e6, S=START, k=1.0)))


@pytest.mark.parametrize("at", [0.98, 1.02])  # about a border of rounding
def test_ensembles_of_nearly_one_length_are_fitted_through_training_with_a_caution(at):
    counts = ((1, 3.99e6), (2, 4.01e6), (4, 4.03e6))
    runs = [
        run
        for seed in (1, 2)
        for k, tokens in counts
        for run in ensemble(f"of-{k}", k, at * tokens, seed, steps=(0.0, 0.05, 0.2, 0.7, 1.0))
    ]
    (law, *_), _ = fit_experts(runs, draws=0)
    assert "mid_schedule" in {caution.code for caution in law.warnings}
    assert law.n_rows == 2 * 3 * 3  # past the warm-up
    assert law.range["D"] == (pytest.approx(0.2 * at * 3.99e6), pytest.approx(at * 4.03e6))


@pytest.mark.parametrize("counts", [(2, 4), (1,)])
def test_without_a_dense_model_or_an_ensemble_it_says_what_to_train(counts):
    laws, (refused,) = fit_experts(study(counts=counts), draws=0)
    assert laws == [] and refused.code == "no_experts_law"
    assert "train `{by: dense}` and another" in refused.sentence


def test_too_few_ensembles_are_refused_by_their_number():
    assert fit_experts([], draws=0) == ([], [])
    laws, refused = fit_experts([*ensemble("a", 1, 1e6, 1), *ensemble("b", 4, 1e6, 1)], draws=0)
    assert laws == [] and "2 rows are too few" in refused[0].sentence


def test_experts_of_another_base_and_text_that_is_divided_are_left_out():
    own = study()
    other = ensemble("other", 4, 1e6, 3, base="another")
    topics = [run for k in (0, 1) for run in ensemble("topics", 1, 1e6, 5)]
    renamed = [replace(run, name=f"topics-e{i // 4}-s5") for i, run in enumerate(topics)]
    laws, _ = fit_experts([*own, *other, *renamed], draws=0)
    assert laws[-1].n_runs == 12


def test_tables_name_experts_by_their_column(tmp_path: Path):
    rows = [
        (D, START, k, float(TRUE.loss(D=D, S=START, k=k))) for D in (1e5, 1e6) for k in (1, 2, 4)
    ]
    lines = [",".join(map(str, row)) for row in rows]
    (tmp_path / "experts.csv").write_text("\n".join(["tokens,start_loss,experts,loss", *lines]))
    law = tongues.fit(tmp_path / "experts.csv", "experts", draws=0).law
    assert law and law.loss(D=3e5, S=START, k=2.0) == pytest.approx(
        float(TRUE.loss(D=3e5, S=START, k=2.0)), rel=0.01
    )


def test_what_experts_are_worth_is_less_sure_far_from_the_runs(fitted):
    law = fitted[0][-1]

    def spread(tokens: float) -> float:
        losses = law.predict(D=tokens, S=START, k=[1.0, 4.0]).expected
        return float(np.std(np.log(losses[:, 1] / losses[:, 0])))

    assert spread(4e8) > 0.03 > 3 * spread(3e6)
