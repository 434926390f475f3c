"""A run that learns what a teacher predicts."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.conftest import MakeRecipe
from tests.experts.ensemble.making import make_ensemble, make_expert, make_tokenizer
from tongues.check import check_recipe
from tongues.errors import UserError
from tongues.experts.ensemble.ensemble import Ensemble, open_ensemble
from tongues.experts.ensemble.routing import parse_routing
from tongues.experts.teacher import taught, teacher_odds
from tongues.files import read_lines
from tongues.models.huggingface import load_model
from tongues.tokens import open_tokens
from tongues.train import RunPlan, derive, run_of_recipe
from tongues.train.run import train
from tongues.train.start import make_mixture
from tongues.train.teacher import TeacherOdds, teacher_folder


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory: pytest.TempPathFactory) -> Ensemble:
    """Two random experts, of `qaa` and `qab`."""
    folder = tmp_path_factory.mktemp("teachers")
    tokenizer = make_tokenizer(folder)
    experts = [make_expert(folder / f"e{n}", tokenizer, seed=n) for n in range(2)]
    return open_ensemble(make_ensemble(folder, experts, tokenizer), folder)


def test_odds_are_those_of_the_experts_by_their_weights(ensemble: Ensemble) -> None:
    size = ensemble.vocabulary  # the models have more rows
    windows = np.random.default_rng(0).integers(1, size, (3, 21))
    langs = ["qab", "qaa", "qab"]
    with torch.inference_mode():
        read = torch.from_numpy(windows[:, :-1])
        own = [ensemble.models[n](input_ids=read).logits.softmax(-1)[..., :size] for n in range(2)]
    found = {
        way: teacher_odds(ensemble, parse_routing(way), windows, langs)
        for way in ("language", "uniform", "posterior")
    }
    expected = torch.stack([own[1][0], own[0][1], own[1][2]])
    torch.testing.assert_close(found["language"], expected)
    torch.testing.assert_close(found["uniform"], (own[0] + own[1]) / 2)
    reached = [p.gather(2, torch.from_numpy(windows[:, 1:, None]))[..., 0].log() for p in own]
    likely = torch.stack(reached, -1).double().numpy()
    about = ensemble.about(parse_routing("posterior"))
    weights = parse_routing("posterior").weights(windows[1, 1:], about, likely[1])
    mean = sum(torch.from_numpy(weights[:, n, None]).float() * own[n][1] for n in range(2))
    torch.testing.assert_close(found["posterior"][1], mean)


def student(
    make_recipe: MakeRecipe,
    *overrides: str,
    teacher: str = "small",
    name: str = "student",
) -> RunPlan:
    """A short run with a teacher."""
    own = (f"train.teacher={teacher}", "train.budget=4k tokens", *overrides)
    return replace(run_of_recipe(make_recipe(*own)), name=name)


def stored_for(plan: RunPlan, workspace: Path) -> TeacherOdds:
    tokens = open_tokens(workspace / "tokens/small")
    return teacher_folder(plan, derive(plan, tokens.vocabulary_size), tokens)


@pytest.mark.usefixtures("trained")
def test_the_likeliest_tokens_are_stored_in_order_and_interruptions_change_nothing(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    plan = taught(student(make_recipe, teacher="{model: small, top: 3}"), workspace)
    stored = stored_for(plan, workspace)
    assert stored.done == stored.samples == 8 * 8
    tokens = open_tokens(workspace / "tokens/small")
    mixture = make_mixture(plan, derive(plan, tokens.vocabulary_size), tokens)
    windows = torch.from_numpy(mixture.batch(2))
    soft = stored.read(16, windows)
    model = load_model(workspace / "runs/small/model").eval()
    with torch.inference_mode():
        odds = model(input_ids=windows[:, :-1]).logits.float().softmax(-1).flatten(0, 1)
    likely, ids = odds.topk(3)
    assert (soft.tokens == ids).float().mean() > 0.999  # but for ties
    torch.testing.assert_close(soft.weights, 0.5 * likely, rtol=2e-3, atol=1e-5)
    inside = (ids == windows[:, 1:].flatten()[:, None]).any(1)
    assert inside.any() and not inside.all()
    torch.testing.assert_close(soft.own, torch.where(inside, 0.5, 1.0))
    whole = {file: file.read_bytes() for file in stored.folder.iterdir()}
    for file, left in zip(whole, (3001, 5002), strict=True):  # killed in the middle of a sample
        file.write_bytes(whole[file][:left])
    assert stored.done < 8
    with pytest.raises(UserError, match=r"there for \d of 64 samples"):
        train(plan, workspace)
    taught(plan, workspace)
    assert {file: file.read_bytes() for file in stored.folder.iterdir()} == whole
    plain, more = (
        check_recipe(make_recipe("train.budget=4k tokens", *keys), workspace)
        for keys in ((), ("train.teacher={model: small, top: 3}",))
    )
    assert more.predictions == sum(map(len, whole.values())) == more.disk - plain.disk


@pytest.mark.usefixtures("trained")
def test_a_teacher_that_is_certain_of_the_text_changes_nothing(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    micro = "train.micro_batch=128 tokens"
    certain = "{model: small, share: 100%, top: 1}"
    plan = student(make_recipe, micro, teacher=certain, name="certain")
    plain = student(make_recipe, micro, teacher="null", name="text")
    tokens, stored = open_tokens(workspace / "tokens/small"), stored_for(plan, workspace)
    mixture = make_mixture(plan, derive(plan, tokens.vocabulary_size), tokens)
    for number in range(8):
        reached = mixture.batch(number)[:, 1:, None]
        stored.add(reached, np.ones(reached.shape))
    found, expected = (
        [(row["loss"], row["norm"]) for row in read_lines(train(one, workspace) / "metrics.jsonl")]
        for one in (plan, plain)
    )
    np.testing.assert_allclose(found, expected, rtol=5e-3)  # in bfloat16


@pytest.mark.usefixtures("trained")
def test_a_run_is_taught_alike_in_parts_and_otherwise_than_by_the_text_alone(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    def losses(plan: RunPlan) -> list[float]:
        return [row["loss"] for row in read_lines(train(plan, workspace) / "metrics.jsonl")]

    whole = losses(taught(student(make_recipe), workspace))
    micro = student(make_recipe, "train.micro_batch=128 tokens", name="parts")
    parts, plain = (
        losses(taught(micro, workspace)),
        losses(student(make_recipe, teacher="null", name="plain")),
    )
    assert parts == pytest.approx(whole, rel=1e-4)
    assert plain[0] == pytest.approx(whole[0], rel=1e-5)  # of the text, at first
    assert abs(plain[-1] - whole[-1]) > 1e-3
    plan = taught(student(make_recipe), workspace)
    folder = stored_for(plan, workspace).folder
    shutil.rmtree(folder)
    assert taught(plan, workspace) == plan  # nothing is stored for a finished run
    assert losses(plan) == whole and not folder.exists()


def test_a_teacher_is_for_one_run_whose_samples_are_known(make_recipe: MakeRecipe) -> None:
    with pytest.raises(UserError, match="rollback"):
        student(make_recipe, "train.on_spike=rollback")
    with pytest.raises(UserError, match="is for one run"):
        student(make_recipe, "pilot={source: qaa, target: qab}")


def test_the_settings_of_a_run_without_a_teacher_do_not_name_one(make_recipe: MakeRecipe) -> None:
    assert "teacher" in student(make_recipe).identity()
    assert "teacher" not in student(make_recipe, teacher="null").identity()
