"""The loss of a base on the user's own text before any training: a minute instead of a guess."""

import math
from collections.abc import Sequence
from pathlib import Path

_WINDOW = 512  # tokens
_WINDOWS = 48  # documents of the sample: the standard error is some per cent of the loss


def measure_base(folder: Path, texts: Sequence[str]) -> float:
    """Bits per byte of a Hugging Face folder on windows from the beginnings of documents."""
    import torch

    from tongues.models.huggingface import load_model
    from tongues.models.scorer import batch_scorer
    from tongues.text.tokens.tokenizer import load_tokenizer

    tokenizer, model = load_tokenizer(folder), load_model(folder).eval()
    scorer, nats, size = batch_scorer(model), 0.0, 0
    for text in texts[:: max(1, len(texts) // _WINDOWS)][:_WINDOWS]:
        encoding = tokenizer.encode(text[: 8 * _WINDOW], add_special_tokens=False)
        ids, ends = encoding.ids[: _WINDOW + 1], encoding.offsets[: _WINDOW + 1]
        if len(ids) < 2:
            continue
        tokens = torch.tensor([ids])
        every = torch.ones_like(tokens[:, 1:], dtype=torch.bool)
        with torch.inference_mode():
            likely, _ = scorer.score(tokens[:, :-1], tokens[:, 1:], every, None)
        nats -= float(likely.double().sum())
        size += len(text[ends[0][1] : ends[-1][1]].encode())
    return nats / math.log(2.0) / size if size else math.nan
