"""The model before its first step: random, a parent's, or a parent's with new embeddings."""

from collections.abc import Callable, Mapping
from pathlib import Path

from tokenizers import Tokenizer
from transformers import PreTrainedModel

from tongues.errors import UserError
from tongues.models.embeddings import WAYS, NewPieces, Way, embed, new_pieces
from tongues.models.folders import read_config
from tongues.models.huggingface import build_model, load_model
from tongues.randomness import derive_seed
from tongues.runs import Surgery, read_record
from tongues.tokens import Tokens, load_tokenizer, vocabulary_size
from tongues.tokens.store import read_manifest
from tongues.train.directory import model_folder
from tongues.train.engine.processes import Processes
from tongues.train.engine.scorer import Scorer
from tongues.train.plan import Derived, RunPlan
from tongues.train.validation import HeldOut, validate

__all__ = ["check_parent", "first_model", "operate", "seen_by_parent"]

_PADDED = 1.1  # rows a piece at the most: some models fill up to a round number


def check_parent(plan: RunPlan, tokenizer: Tokenizer, parent: Path) -> NewPieces | None:
    """Refuse a parent of another tokenizer; returns the pieces that it lacks.

    A parent fits whose tokenizer is the run's own, or the beginning of it: every piece of the
    parent's has the same id in both.
    """
    folder = model_folder(parent)
    path = folder / "tokenizer.json"
    if not path.is_file():
        what, hint = "holds no tokenizer.json", "put the model's own tokenizer beside it"
        raise UserError(what, where=str(folder), hint=hint)
    theirs = load_tokenizer(path)
    rows, pieces = read_config(folder).get("vocab_size", 0), vocabulary_size(theirs)
    if not pieces <= rows <= _PADDED * pieces + 256:
        what = f"its tokenizer has {pieces:,} pieces and its model {rows:,} rows for them"
        hint = "put the model's own tokenizer beside it"
        raise UserError(what, where=str(folder), hint=hint)
    if theirs.to_str() == tokenizer.to_str():  # the files may be written differently
        return None
    lacked = new_pieces(theirs, tokenizer)
    if lacked and lacked.parts:
        return lacked
    what = f"`{plan.parent}` was trained with another tokenizer than these tokens"
    hint = f"take its own by `tokens.base: {folder}`, extended if you wish, and prepare with it"
    raise UserError(what, where="train.init_from", hint=hint)


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
        assert plan.shape is not None
        return build_model(
            plan.shape,
            tokens.vocabulary_size,
            plan.settings.context,
            tied_embeddings=plan.tied_embeddings,
            end_id=tokens.end_id,
            seed=derive_seed(plan.settings.seed, "weights"),
        )
    model = load_model(model_folder(parent))
    if lacked:
        _embed(model, plan, tokens, lacked, plan.new_embeddings)
    assert model.num_parameters() == derived.parameters["total"]
    return model


def operate(
    plan: RunPlan,
    tokens: Tokens,
    scorer: Scorer,
    texts: Mapping[str, HeldOut],
    lacked: NewPieces,
    processes: Processes,
    tell: Callable[[str], None],
) -> Surgery:
    """Try every way of new embeddings and tell its held-out loss; leaves the model as it was."""
    chosen = plan.new_embeddings
    before = {name: weight.clone() for name, weight in scorer.model.state_dict().items()}
    losses: dict[str, dict[str, float]] = {}
    for way in sorted(WAYS):
        if way != chosen:
            _embed(scorer.model, plan, tokens, lacked, way)
        found = validate(scorer, texts, processes)
        scorer.model.load_state_dict(before)
        losses[way] = {lang: loss.nats_per_token for lang, loss in found.items()}
        shown = ", ".join(f"{lang} {loss:.3f}" for lang, loss in losses[way].items())
        tell(f"{len(lacked.parts)} new pieces by `{way}`: held-out nats per token {shown}")
    return Surgery(pieces=len(lacked.parts), way=chosen, losses=losses)


def _embed(
    model: PreTrainedModel, plan: RunPlan, tokens: Tokens, lacked: NewPieces, way: Way
) -> None:
    texts = [tokens.train(lang) for lang in tokens.languages]
    embed(model, lacked, way, texts, seed=derive_seed(plan.settings.seed, "new embeddings"))
