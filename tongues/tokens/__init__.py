"""Text in, token shards and batches out: tokenizer, shards, held-out split, mixture."""

from tongues.tokens.mixture import Mixture
from tongues.tokens.prepare import check_tokens, prepare_tokens
from tongues.tokens.store import (
    Counts,
    Split,
    Tokens,
    open_cluster,
    open_tokens,
    runs_trained_on,
)
from tongues.tokens.tokenizer import END_ID, load_tokenizer, tokenizer_files, vocabulary_size

__all__ = ["END_ID", "Counts", "Mixture", "Split", "Tokens", "check_tokens", "load_tokenizer"]
__all__ += ["open_cluster", "open_tokens", "prepare_tokens", "runs_trained_on", "tokenizer_files"]
__all__ += ["vocabulary_size"]
