"""Text in, token shards and batches out: tokenizer, shards, held-out split, mixture."""

from tongues.text.tokens.mixture import Mixture
from tongues.text.tokens.prepare import check_tokens, prepare_tokens
from tongues.text.tokens.store import (
    Counts,
    Split,
    Tokens,
    open_cluster,
    open_tokens,
    runs_trained_on,
)
from tongues.text.tokens.tokenizer import END_ID, load_tokenizer, tokenizer_files, vocabulary_size

__all__ = ["END_ID", "Counts", "Mixture", "Split", "Tokens", "check_tokens", "load_tokenizer"]
__all__ += ["open_cluster", "open_tokens", "prepare_tokens", "runs_trained_on", "tokenizer_files"]
__all__ += ["vocabulary_size"]
