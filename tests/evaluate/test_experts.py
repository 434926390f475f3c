"""An evaluation of experts: its settings, what each is compared with, and every expert alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import with_tokens
from tests.experts.ensemble import making
from tests.experts.ensemble.making import make_ensemble, make_expert
from tongues.evaluate.evaluation import Evaluation
from tongues.evaluate.experts import evaluate_experts
from tongues.experts.ensemble.lineage import read_lineage, write_lineage
from tongues.text.tokens import open_tokens


@pytest.fixture(scope="module")
def evaluation(tokens: Path, tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    """Of `before`, where only `qaa` has an expert, and `added`, where both languages have."""
    workspace = with_tokens(tmp_path_factory.mktemp("experts"), tokens)
    tokenizer, names = tokens / "tokenizer.json", ("runs/seed", "e0", "e1", "e2")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(making, "VOCABULARY", open_tokens(tokens).vocabulary_size)
        _, *places = (
            make_expert(workspace / name, tokenizer, seed=n) for n, name in enumerate(names)
        )
        before = make_ensemble(workspace, places[::2], tokenizer, name="before")
        added = make_ensemble(workspace, places, tokenizer, name="added")
        other = make_ensemble(workspace, places[::-1], tokenizer, name="other")
    write_lineage(replace(read_lineage(before), languages={"qaa": "e0"}), before)
    folders = {"before": [before], "added": [added], "both": [added, other]}
    kept = workspace / "evaluations/some"
    return evaluate_experts(folders, "small", workspace, kept, scored=300, context=32)


def test_added_languages_are_compared_with_the_ensemble_before(evaluation: Evaluation) -> None:
    added = evaluation.texts["small"].added
    versus = {each.model: each.others or each.other for each in added}
    for way, same in {"tfidf": "tfidf", "tfidf:2": "tfidf", "filter:2": "filter:2"}.items():
        assert versus[f"added@{way}"] == f"before@{same}"
    by_language = {"qaa": "before@language", "qab": "before@filter:2"}  # without an expert of qab
    assert versus["added@language"] == by_language
    assert not any(name.startswith("before") for name in versus)


def test_every_expert_is_scored_alone(evaluation: Evaluation) -> None:
    assert evaluation.experts
    cells = {(of.partition, of.expert, of.language): of for of in evaluation.experts.cells}
    assert len(cells) == (2 + 3 + 3) * 2 and len(evaluation.experts.cells) == (2 + 3 + 6) * 2
    losses = evaluation.texts["small"].losses
    own, base = losses["added@language"]["qab"], losses["seed"]["qab"]
    for name, other in (("added", "e1"), ("before", "e1")):
        cell = cells[name, other, "qab"]
        assert cell.base_loss == pytest.approx(base.nats_per_token)
        assert (cell.loss == pytest.approx(own.nats_per_token)) is (name == "added")


def test_a_partition_of_several_seeds_is_their_mean(evaluation: Evaluation) -> None:
    for loss in evaluation.texts["small"].losses["both@tfidf"].values():
        assert len(loss.of_members) == 2
        assert loss.nats_per_token == pytest.approx(sum(loss.of_members) / 2)
    (model,) = (model for model in evaluation.models if model.name == "both@tfidf")
    assert list(model.members) == ["small/added@tfidf", "small/other@tfidf"]
