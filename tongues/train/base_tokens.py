"""Whether a base goes with prepared tokens: by its tokenizer, and by what was held out from it."""

from pathlib import Path

from tokenizers import Tokenizer

from tongues.core.errors import UserError
from tongues.models.huggingface import configure
from tongues.models.token_map import TokenMap, map_tokens
from tongues.runs.record import read_run
from tongues.text.tokens import Tokens, load_tokenizer, vocabulary_size
from tongues.text.tokens.frame import same_but_frame
from tongues.text.tokens.store import read_manifest
from tongues.train.base import model_folder
from tongues.train.planned import RunPlan

_PADDED = 1.1  # rows a token at most, chosen: some models fill up to a round number


def check_base(plan: RunPlan, tokenizer: Tokenizer, base: Path) -> TokenMap | None:
    """Refuse a base of another tokenizer; returns where the tokens come from that it does not have.

    A base fits whose tokenizer is the run's own, or the beginning of it: every token of the
    base's has the same id in both.
    """
    folder = model_folder(base)
    path, hint = folder / "tokenizer.json", "put the model's own tokenizer into its folder"
    if not path.is_file():
        raise UserError("has no tokenizer.json", where=str(folder), hint=hint)
    theirs = load_tokenizer(path)
    rows, size = configure(folder).vocab_size, vocabulary_size(theirs)
    unread = {
        number for number, token in theirs.get_added_tokens_decoder().items() if token.special
    }
    missing_rows = set(range(rows, size)) - unread  # text never has a special token
    if missing_rows or rows > _PADDED * size + 256:
        what = f"its tokenizer has {size:,} tokens and its model {rows:,} rows for them"
        raise UserError(what, where=str(folder), hint=hint)
    if same_but_frame(theirs, tokenizer):  # the files may be written differently
        return None
    token_map = map_tokens(theirs, tokenizer)
    if token_map.extends and len(token_map.missing):
        if not plan.settings.trains_embeddings:
            what = "the embeddings of new tokens must be trained"
            hint = "set `embeddings: true` of `lora`, or leave `trainable` out"
            raise UserError(what, where="train.trainable", hint=hint)
        return token_map
    what = f"`{plan.base}` was trained with another tokenizer than these tokens"
    hint = f"take its own by `tokens.base: {folder}`, extended if you wish, and prepare with it"
    raise UserError(what, where="train.base", hint=hint)


def seen_by_base(tokens: Tokens, base: Path, workspace: Path) -> dict[str, float]:
    """Share of each language's held-out groups that were not held out from the base.

    For a base of this workspace and the languages it knows, where there are any.
    """
    if not (base / "run.json").is_file():
        return {}
    read = read_run(base).tokens_fingerprint
    shares: dict[str, float] = {}
    for place in sorted(workspace.glob("tokens/*/tokens.json")):
        theirs = read_manifest(place.parent)
        if theirs["fingerprint"] != read or read == tokens.fingerprint:
            continue
        known = {group for groups in theirs["held_out"].values() for group in groups}
        for lang in set(tokens.languages) & theirs["held_out"].keys():
            if seen := set(tokens.held_out[lang]) - known:
                shares[lang] = len(seen) / len(tokens.held_out[lang])
    return shares
