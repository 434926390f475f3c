from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tongues.estimate import Estimate
from tongues.report import Findings, findings, sentences
from tongues.report.verdicts import above, below
from tongues.report.words import nats, percent, with_stop
from tongues.runs import run_rows


def said(place: Path) -> str:
    return "\n".join(sentences(findings(run_rows([place]))))


@pytest.mark.parametrize(
    ("estimate", "expected"),
    [
        (Estimate(0.4312, 0.379, 0.472, n=8), "43 % [38, 47]"),
        (Estimate(0.4312, n=1), "43 %"),
        (Estimate(-0.012, -0.05, 0.03, n=8), "−1 % [−5, 3]"),
        (Estimate(-0.001, -0.05, 0.03, n=8), "0 % [−5, 3]"),
    ],
)
def test_percent_has_its_interval_and_true_minus_signs(estimate: Estimate, expected: str):
    assert percent(estimate) == expected


def test_nats_turned_swap_the_ends():
    assert nats(-Estimate(-0.83, -0.9, -0.71, n=8)) == "0.83 [0.71, 0.90]"


def test_sentences_carry_interval_and_pairs(made_findings: Findings):
    text = "\n".join(sentences(made_findings))
    assert "On `near`, CPT reached the loss of training from scratch with 4" in text
    assert "fewer tokens (8 pairs)." in text
    assert "CPT saved more on `near` than on `far`, by 2" in text
    assert "Without replay, learning `near` raised the loss on `home` by 0.80 [" in text
    assert "With 20 % replay, learning `near` lowered the loss on `home` by 0.030 [" in text
    assert "the highest evaluation on the way 0.1" in text
    assert "20 % replay spared `home` 0.83 [" in text
    assert "the best size for compute C grows as C^0." in text


def test_unwelcome_findings_are_said(make_study: Callable[..., Path], tmp_path: Path):
    text = said(make_study(tmp_path / "worse", saved=-0.5, targets=("near",), replay=(0.0,)))
    assert "more tokens than training from scratch for the same loss (8 pairs)" in text
    assert "In 8 of 8 it never reached the final loss of its twin" in text
    text = said(make_study(tmp_path / "same", saved=0.0, noise=0.01, replay=(0.0,)))
    assert "cannot be told apart" in text
    assert "cannot be told: the difference is" in text


def test_what_cannot_be_told_of_forgetting_is_said_so(made_findings: Findings):
    first, *_ = made_findings.forgetting
    unsure = replace(first, replay=0.2, rise=Estimate(0.05, -0.1, 0.2, n=8))
    text = "\n".join(sentences(replace(made_findings, forgetting=(unsure,))))
    said = "Whether learning `near` with 20 % replay raises or lowers the loss on `home` cannot be"
    assert f"{said} told: 0.050 [−0.100, 0.200] nats per token" in text
    assert {above(unsure.rise), below(unsure.rise)} == {"cannot be told"}


def test_a_question_gets_no_full_stop():
    assert with_stop("are the columns swapped?") == "are the columns swapped?"
    assert with_stop("only 3 sizes") == "only 3 sizes."


def test_one_pair_has_no_interval(make_study: Callable[..., Path], tmp_path: Path):
    text = said(make_study(tmp_path, shapes=("0.2M",), seeds=(1,), targets=("near",)))
    assert "fewer tokens (one pair, so no interval)." in text
    assert "above its start (one run, so no interval)." in text
    assert "20 % replay spared `home` 0.83, and cost `near` 0.0" in text
