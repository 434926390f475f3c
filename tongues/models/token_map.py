"""Where the tokens of a tokenizer come from in the tokenizer of a base model."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import PreTrainedModel

from tongues.models.anatomy import embedding_matrices, padded_rows
from tongues.text.tokens.spelling import byte_alphabet, byte_tokens, is_bytewise, token_spellings


@dataclass(frozen=True, eq=False)
class TokenMap:
    """The tokens of a tokenizer by those of its base.

    shared: the base's id of each token, -1 where it has no such token. parts: the base's tokens
    that spell each of those. base_size: ids of the base's tokenizer.
    """

    shared: np.ndarray
    parts: Mapping[int, list[int]]
    base_size: int

    @property
    def size(self) -> int:
        """Ids of the tokenizer."""
        return len(self.shared)

    @cached_property
    def extends(self) -> bool:
        """Whether every token of the base has the same id in both."""
        return np.array_equal(self.shared[: self.base_size], np.arange(self.base_size))

    @cached_property
    def missing(self) -> np.ndarray:
        """The ids of the tokens that the base does not have, in order."""
        return np.array(sorted(self.parts), dtype=np.int64)

    @property
    def is_new(self) -> Tensor:
        """Of each id, whether the base does not have its token."""
        return torch.from_numpy(self.shared < 0)


def map_tokens(base: Tokenizer, tokenizer: Tokenizer) -> TokenMap:
    """Find each token of a tokenizer in its base, or the base's tokens that spell it."""
    old, new = base.get_vocab(), tokenizer.get_vocab()
    base_spellings, spellings = token_spellings(base), token_spellings(tokenizer)
    if is_bytewise(base) != is_bytewise(tokenizer):  # they write the same bytes differently
        special = {token.content for token in base.get_added_tokens_decoder().values()}
        by_bytes = {spelling: n for n, spelling in enumerate(base_spellings) if spelling}
        same = {t: by_bytes[spellings[n]] for t, n in new.items() if spellings[n] in by_bytes}
        old = same | {token: old[token] for token in special}
    shared = np.full(len(spellings), -1, dtype=np.int64)
    for token, number in new.items():
        shared[number] = old.get(token, -1)
    texts = {n: token.content for n, token in tokenizer.get_added_tokens_decoder().items()}
    parts = {
        number: base.encode(texts[number], add_special_tokens=False).ids
        if number in texts  # an added token is text
        else _spell(base, spellings[number])
        for number in sorted(new.values())
        if shared[number] < 0
    }
    return TokenMap(shared, parts, len(base_spellings))


def _spell(base: Tokenizer, spelling: bytes) -> list[int]:
    """The base's tokens for some bytes inside a text."""
    if is_bytewise(base):
        alphabet = byte_alphabet()
        return [part.id for part in base.model.tokenize("".join(alphabet[b] for b in spelling))]
    try:
        text = spelling.decode().replace(" ", "▁")
    except UnicodeDecodeError:
        single = byte_tokens(base)
        return [single[byte] for byte in spelling if byte in single]
    return [part.id for part in base.model.tokenize(text)]


def row_sources(before: int, tokens: TokenMap) -> Tensor:
    """For each row of a model resized for these tokens, the base's row of `before`; -1: no row."""
    spare = before if tokens.extends else 0
    rows = max(spare, padded_rows(tokens.size)) if spare < tokens.size else spare
    source = torch.full((rows,), -1)
    source[: tokens.size] = torch.from_numpy(tokens.shared)
    source[source >= before] = -1  # ids that text never has may have no row
    if spare > tokens.size:
        source[tokens.size : spare] = torch.arange(tokens.size, spare)
    return source


@torch.no_grad()
def resize_vocabulary(model: PreTrainedModel, tokens: TokenMap) -> list[Tensor]:
    """Give a model a row for every token, in place; returns the rows that the base had.

    Shared tokens keep their rows, and so do those that pad the base's matrix. All others, and the
    rows that fill the new matrix up, get the mean of the base's rows: it is likely nowhere.
    """
    before = [matrix.detach().clone() for matrix in embedding_matrices(model)]
    bias = _output_bias(model)
    bias = None if bias is None else bias.clone()
    source = row_sources(len(before[0]), tokens)
    if len(source) != len(before[0]):
        model.resize_token_embeddings(len(source), mean_resizing=False)
    have = source >= 0
    for matrix, old in zip(embedding_matrices(model), before, strict=True):
        matrix[have] = old[source[have]]
        matrix[~have] = old[: tokens.base_size].mean(0)
    if bias is not None and (new := _output_bias(model)) is not None:
        new[have] = bias[source[have]]
        new[~have] = bias[: tokens.base_size].mean()
    spare = max(0, tokens.base_size - len(before[0]))
    filled = [torch.cat([old, old.mean(0).expand(spare, -1)]) for old in before]
    return [old[: tokens.base_size] for old in filled]


def _output_bias(model: PreTrainedModel) -> Tensor | None:
    bias = getattr(model.get_output_embeddings(), "bias", None)
    return bias.data if isinstance(bias, Tensor) else None
