"""The tokenizer of a recipe: trained on its text, taken as it is, or extended."""

from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from tongues.errors import UserError
from tongues.quantities import show_bytes
from tongues.ranks import Tell
from tongues.recipe import Recipe
from tongues.text.corpus import Corpus
from tongues.text.select import Selection
from tongues.tokens.extend import extend_tokenizer
from tongues.tokens.tokenizer import (
    load_tokenizer,
    sample_sizes,
    save_tokenizer,
    train_tokenizer,
    training_memory,
    vocabulary_size,
)

__all__ = ["make_tokenizer"]

_MUCH = 1_000_000_000  # bytes of memory worth a word beforehand


def make_tokenizer(
    recipe: Recipe, corpus: Corpus, selection: Selection, place: Path, tell: Tell
) -> Tokenizer:
    """Make the recipe's tokenizer from kept text and save it in `place`."""
    settings = recipe.tokens
    base = Path(settings.base) if settings.base else None
    if base is None:
        tokenizer = _trained(recipe, corpus, selection, tell)
    else:
        if not base.exists():
            hint = "name a folder or file on this machine; nothing is fetched"
            what = f"there is no tokenizer `{base}`"
            raise UserError(what, where="tokens.base", hint=hint)
        tokenizer = load_tokenizer(base)
        tell(f"tokenizer of {vocabulary_size(tokenizer)} pieces from {base}")
        if settings.extend:
            wanted = settings.extend
            target = {lang: _sample(recipe, lang, corpus, selection) for lang in wanted.languages}
            keep = [
                text for lang in wanted.keep for text in _sample(recipe, lang, corpus, selection)
            ]
            extended = extend_tokenizer(tokenizer, target, keep, wanted.pieces)
            tokenizer = extended.tokenizer
            kept, learned = ", ".join(wanted.keep), ", ".join(wanted.languages)
            tell(f"{len(extended.added)} pieces added for {learned}; the text of {kept} keeps its")
    save_tokenizer(tokenizer, place, base)
    return tokenizer


def _trained(recipe: Recipe, corpus: Corpus, selection: Selection, tell: Tell) -> Tokenizer:
    settings = recipe.tokens
    size = corpus.numbers("bytes")[selection.kept]
    lang = corpus.lang[selection.kept]
    available = {name: int(size[lang == code].sum()) for code, name in enumerate(corpus.languages)}
    sizes = sample_sizes(available, settings.sample, settings.sampling)
    samples = {name: _sample(recipe, name, corpus, selection) for name in corpus.languages}
    memory = training_memory(samples, sizes)
    if memory > _MUCH:
        tell(f"training the tokenizer takes about {show_bytes(memory)} of memory")
    tokenizer = train_tokenizer(samples, sizes, settings.vocabulary)
    most = show_bytes(max(sizes.values()))
    tell(f"tokenizer of {vocabulary_size(tokenizer)} pieces from up to {most} per language")
    return tokenizer


def _sample(recipe: Recipe, lang: str, corpus: Corpus, selection: Selection) -> list[str]:
    """Kept texts of a language, together about as large as the recipe's sample.

    They are taken from the other end of the order than the held-out ones.
    """
    code = corpus.languages.index(lang) if lang in corpus.languages else -1
    if code < 0:
        raise UserError(f"language `{lang}` has no text", where="tokens.extend")
    kept = selection.kept[corpus.lang[selection.kept] == code]
    order = kept[np.lexsort((corpus.numbers("exact")[kept], selection.component[kept]))[::-1]]
    sizes = np.cumsum(corpus.numbers("bytes")[order], dtype=np.int64)
    enough = int(np.searchsorted(sizes, recipe.tokens.sample)) + 1
    return corpus.chosen_texts(order[:enough])
