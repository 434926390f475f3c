"""The embeddings that the new tokens of a run start with."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from tongues.models.anatomy import embedding_matrices
from tongues.models.embeddings import NewTokens, calibrate, mean_rows
from tongues.models.token_map import TokenMap
from tongues.runs.record import VocabularyExtension
from tongues.train.distillation import distill
from tongues.train.engine.processor import uncompiled
from tongues.train.engine.sharding import reshard, set_rows
from tongues.train.step import Setup

_RISE = 0.005  # nats per token that new output rows may cost text of known tokens
_STATES = 1024  # tokens of base languages on which that is measured


def initialize(
    setup: Setup,
    tokens: TokenMap,
    matrices: Sequence[Tensor],
    tell: Callable[[str], None],
    snippets: int | None = None,
) -> VocabularyExtension:
    """Give the new tokens of a run their embeddings; returns how.

    matrices: the base's rows. snippets: of text, to distill them on; None: by the run's length.
    """
    method = setup.plan.new_embeddings
    tell(f"{len(tokens.missing):,} new tokens start by `{method}`")
    rows = mean_rows(tokens, matrices)
    with uncompiled():  # as the lengths of snippets differ, none is worth compiling for
        hidden = _states_of_known_text(setup)

    def set_all() -> None:
        if hidden is not None:
            rows[-1], _ = calibrate(rows[-1], matrices[-1], hidden, _RISE)
        numbers = torch.from_numpy(tokens.missing)
        for matrix, content in zip(embedding_matrices(setup.scorer.model), rows, strict=True):
            set_rows(matrix, numbers, content)

    set_all()
    if method == "distilled":
        languages = setup.tokens.languages
        read = [lang for lang in languages if lang in setup.texts or lang in setup.plan.shares]
        texts = [setup.tokens.train(lang) for lang in read]
        with uncompiled():
            rows[0] = distill(setup, NewTokens(tokens, matrices, texts), rows[0], snippets)
        set_all()
    return VocabularyExtension(new_tokens=len(tokens.missing), initialization=method)


@torch.no_grad()
def _states_of_known_text(setup: Setup) -> Tensor | None:
    """What comes before the output matrix in text of the base's languages.

    None where there is no such text, or where logits are more than a product.
    """
    langs = [lang for lang in setup.plan.roles.forgettable if lang in setup.tokens.languages]
    if not langs or not setup.scorer.chunked:
        return None
    context = setup.plan.settings.context
    samples = []
    for lang in langs:
        text = setup.tokens.train(lang)
        count = max(1, min(_STATES // len(langs), len(text)) // context)
        samples += [text[n * context :][:context].astype("int64") for n in range(count)]
    windows = torch.from_numpy(setup.tokens.frame.begin(np.stack(samples)))
    hidden = setup.scorer.hidden_states(windows.to(setup.processor.device))
    reshard(setup.scorer)
    return hidden.flatten(0, 1)[:_STATES].float().cpu()
