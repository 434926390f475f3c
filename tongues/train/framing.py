"""Whether the frame of the prepared text is the one that the base was trained with."""

import torch

from tongues.runs.record import FrameLosses
from tongues.text.tokens import Tokens, load_tokenizer
from tongues.text.tokens.frame import read_settings
from tongues.train.engine.processor import uncompiled
from tongues.train.engine.scorer import Scorer
from tongues.train.engine.sharding import reshard

_TOKENS = 4096  # of held-out text that are scored in each way; chosen: a second of a small base


def compare_frames(scorer: Scorer, tokens: Tokens, known: tuple[str, ...]) -> FrameLosses | None:
    """Held-out losses of a base with and without the token that begins its documents.

    It is the frame's, or else the one that the tokenizer's settings name. known: languages of the
    base, whose text is taken where there is some. The first token of each document is not counted:
    without the token, nothing predicts it.
    """
    tokenizer = load_tokenizer(tokens.tokenizer_path)
    named = read_settings(tokens.path / "tokenizer_config.json").get("bos_token")
    bos = tokens.frame.bos
    if bos is None and isinstance(named, str):
        bos = tokenizer.token_to_id(named)
    if bos is None or bos == tokens.frame.end:
        return None
    langs = [lang for lang in tokens.languages if lang in known] or list(tokens.languages)
    config = scorer.model.config.get_text_config()
    context = getattr(config, "max_position_embeddings", None) or _TOKENS  # BLOOM has none
    documents = [
        document
        for lang in langs
        for document in _documents(tokens, lang, _TOKENS // len(langs), min(context - 1, _TOKENS))
    ]
    if not documents:
        return None
    scorer.eval()
    with torch.no_grad(), uncompiled():
        count = sum(len(document) - 1 for document in documents)
        framed = [torch.cat([torch.tensor([bos]), document]) for document in documents]
        first = sum(_nats(scorer, window[:2]) for window in framed)
        with_bos = sum(_nats(scorer, window) for window in framed) - first
        without = sum(_nats(scorer, document) for document in documents)
    reshard(scorer)
    scorer.train()
    return FrameLosses(
        token=tokenizer.id_to_token(bos) or "",
        used=tokens.frame.bos == bos,
        with_token=with_bos / count,
        without_token=without / count,
        tokens=count,
    )


def _documents(tokens: Tokens, lang: str, amount: int, longest: int) -> list[torch.Tensor]:
    """The first held-out documents of a language without their frame, `amount` tokens of them."""
    shard = tokens.shard(lang, "valid")
    documents, count = [], 0
    for begin, stop in zip(shard.bounds[:-1], shard.bounds[1:], strict=True):
        begin += tokens.frame.bos is not None
        document = shard.tokens[begin : min(stop - 1, begin + longest, begin + amount - count)]
        if len(document) > 1:
            documents.append(torch.from_numpy(document.astype("int64")))
            count += len(document)
        if count + 1 >= amount:
            break
    return documents


def _nats(scorer: Scorer, window: torch.Tensor) -> float:
    return float(scorer(window[None].to(scorer.processor.device))[1])
