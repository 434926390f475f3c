"""The model before its first step: random, a parent's, or a parent's with new embeddings."""

from collections.abc import Callable
from pathlib import Path

from transformers import PreTrainedModel

from tongues.errors import UserError
from tongues.models import count_parameters
from tongues.models.embeddings import WAYS, NewPieces, Way, embed, new_pieces
from tongues.models.huggingface import build_model, load_model
from tongues.randomness import derive_seed
from tongues.runs import Surgery, read_record
from tongues.tokens import Tokens, load_tokenizer
from tongues.tokens.store import read_manifest
from tongues.train.loop import Setup
from tongues.train.plan import Derived, RunPlan
from tongues.train.validation import validate

__all__ = ["check_parent", "first_model", "operate", "seen_by_parent"]


def check_parent(plan: RunPlan, tokens: Tokens, parent: Path) -> NewPieces | None:
    """Refuse a parent of another tokenizer or size; returns the pieces that it lacks.

    A tokenizer fits that is the run's own, or in which the run's own begins: every piece of the
    parent's has the same id in both.
    """
    path = _model_of(parent) / "tokenizer.json"
    if not path.is_file():
        what, hint = "holds no tokenizer.json", "put the model's own tokenizer beside it"
        raise UserError(what, where=str(_model_of(parent)), hint=hint)
    lacked, vocabulary = None, tokens.vocabulary_size
    theirs, ours = load_tokenizer(path), load_tokenizer(tokens.tokenizer_path)
    if theirs.to_str() != ours.to_str():  # the files may be written differently
        lacked = new_pieces(theirs, ours)
        if not (lacked and lacked.parts):
            what = f"`{plan.parent}` was trained with another tokenizer than these tokens"
            hint = "continue from a run of the same recipe's tokens, or extend its tokenizer"
            raise UserError(what, where="train.init_from", hint=hint)
        vocabulary = lacked.known
    recorded = read_record(parent)["params"] if (parent / "run.json").is_file() else None
    if recorded and recorded != count_parameters(plan.shape, vocabulary, plan.tied_embeddings):
        raise _other_shape(plan)
    return lacked


def seen_by_parent(tokens: Tokens, parent: Path, workspace: Path) -> dict[str, float]:
    """Share of each language's held-out groups that were not held out from the parent.

    Told of a parent of this workspace and the languages it knows, where there are any.
    """
    if not (parent / "run.json").is_file():
        return {}
    made_from = read_record(parent)["tokens_fingerprint"]
    if made_from == tokens.fingerprint:
        return {}
    shares: dict[str, float] = {}
    for place in sorted(workspace.glob("tokens/*/tokens.json")):
        theirs = read_manifest(place.parent)
        if theirs["fingerprint"] != made_from:
            continue
        known = {group for groups in theirs["held_out"].values() for group in groups}
        for lang in set(tokens.languages) & theirs["held_out"].keys():
            seen = set(tokens.held_out[lang]) - known
            if seen:
                shares[lang] = len(seen) / len(tokens.held_out[lang])
    return shares


def first_model(
    plan: RunPlan, derived: Derived, tokens: Tokens, parent: Path | None, lacked: NewPieces | None
) -> PreTrainedModel:
    """Random weights, or the parent's with rows for the pieces it lacks."""
    if parent is None:
        return build_model(
            plan.shape,
            tokens.vocabulary_size,
            plan.settings.context,
            tied_embeddings=plan.tied_embeddings,
            end_id=tokens.end_id,
            seed=derive_seed(plan.settings.seed, "weights"),
        )
    model = load_model(_model_of(parent))
    if lacked:
        _embed(model, plan, tokens, lacked, plan.new_embeddings)
    if model.num_parameters() != derived.parameters["total"]:
        raise _other_shape(plan)
    return model


def operate(setup: Setup, lacked: NewPieces, tell: Callable[[str], None]) -> Surgery:
    """Try every way of new embeddings and tell its held-out loss; leaves the one chosen."""
    plan, chosen = setup.plan, setup.plan.new_embeddings
    losses: dict[str, dict[str, float]] = {}
    for way in sorted(WAYS, key=chosen.__eq__):  # the chosen one last
        _embed(setup.model, plan, setup.tokens, lacked, way)
        found = validate(setup.model, setup.texts, setup.processor, setup.apart_by)
        losses[way] = {lang: loss.nats_per_token for lang, loss in found.items()}
        shown = ", ".join(f"{lang} {loss:.3f}" for lang, loss in losses[way].items())
        tell(f"{len(lacked.parts)} new pieces by `{way}`: held-out nats per token {shown}")
    return Surgery(pieces=len(lacked.parts), way=chosen, losses=losses)


def _embed(
    model: PreTrainedModel, plan: RunPlan, tokens: Tokens, lacked: NewPieces, way: Way
) -> None:
    texts = [tokens.train(lang) for lang in tokens.languages]
    embed(model, lacked, way, texts, seed=derive_seed(plan.settings.seed, "new embeddings"))


def _other_shape(plan: RunPlan) -> UserError:
    what = f"`{plan.parent}` is of another shape than {plan.shape.name}"
    return UserError(what, where="model.shape", hint="give the shape of the parent")


def _model_of(parent: Path) -> Path:
    """The Hugging Face folder of a run, or the folder itself."""
    return parent / "model" if (parent / "run.json").is_file() else parent
