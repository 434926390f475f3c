"""Experts that branch from a base which loses tokens that their text does not use."""

from pathlib import Path

from tests.conftest import MakeRecipe
from tongues.experts.plans import expert_runs, plan_rounds
from tongues.experts.train import train_experts
from tongues.launch import open_launcher
from tongues.models import find_shape
from tongues.models.huggingface import build_model, save_model
from tongues.runs import read_run
from tongues.tokens import load_tokenizer, open_tokens, prepare_tokens
from tongues.tokens.tokenizer import save_tokenizer
from tongues.train.transplant import transplanted


def test_experts_branch_from_a_trimmed_base(make_recipe: MakeRecipe, workspace: Path) -> None:
    wide = open_tokens(workspace / "tokens/small")
    base = workspace / "wide"
    save_model(build_model(find_shape("0.05M"), wide.vocabulary_size, 64, seed=1), base)
    save_tokenizer(load_tokenizer(wide.path), base, wide.path)
    recipe = make_recipe(
        "name=trimmed",
        "model={}",
        f"tokens={{base: {base}, trim: true, sample: 2 kB, held_out: 1000 tokens}}",
        f"train.base={{model: {base}, languages: [qaa]}}",
        "train.mixture={}",
        "train.budget=4k tokens",
        "train.num_evals=1",
        "experts={partitions: [{by: languages}]}",
    )
    prepare_tokens(recipe, workspace, lambda line: None)
    tokens = open_tokens(workspace / "tokens/trimmed")
    assert tokens.vocabulary_size < wide.vocabulary_size
    rounds = plan_rounds(recipe, workspace, make=True)
    (changed,) = (workspace / "bases").iterdir()
    assert {run.base for run, _ in expert_runs(rounds, workspace)} == {str(changed)}
    assert any("tokens become" in note for note in rounds[0].notes)
    assert transplanted(changed, tokens, workspace, print) == changed  # which has their tokenizer
    (folder,) = train_experts(recipe, workspace, rounds, launcher=open_launcher())
    assert (folder / "ensemble.json").is_file()
    (runs,) = (made.runs for made in rounds)
    for run in runs:
        record = read_run(workspace / "runs" / run.name)
        assert record.status == "finished"
        assert record.base and record.base.model == str(changed)
    assert [each.name for each in (workspace / "bases").iterdir()] == [changed.name]
