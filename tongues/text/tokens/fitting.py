"""The tokenizer of a recipe: trained on its text, taken as it is, extended or trimmed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from tongues.core.errors import Caution, UserError
from tongues.core.quantities import show_bytes
from tongues.core.ranks import Say
from tongues.core.roles import list_languages
from tongues.recipe import Extend, TextRecipe
from tongues.text import TextSource
from tongues.text.corpus import Corpus, Selection
from tongues.text.folder import sample_texts
from tongues.text.tokens.extend import extend_tokenizer
from tongues.text.tokens.fertility import changed_share, measure_texts
from tongues.text.tokens.spelling import byte_alphabet, byte_tokens, is_bytewise
from tongues.text.tokens.tokenizer import (
    find_tokenizer,
    load_tokenizer,
    save_tokenizer,
    train_tokenizer,
    vocabulary_size,
)
from tongues.text.tokens.words import PREPARED

_TRIED = 300_000  # bytes of each language on which the tokenizer is judged
_GLANCE = 50_000  # characters of each language on which it is judged before text is read
_REPEATED = 1.5  # times what there is of a language, from where its repetition is told
_EVERY = 10  # documents, one of which is left out for a trial
_TEXTS = 256  # encoded at a time


def make_tokenizer(
    recipe: TextRecipe, corpus: Corpus, selection: Selection, place: Path, tell: Say
) -> Tokenizer:
    """Make the recipe's tokenizer from kept text and save it in `place`."""
    settings = recipe.tokens
    base = find_tokenizer(settings.base) if settings.base else None
    if base is None:
        tokenizer = _trained(recipe, corpus, selection, tell)
    else:
        tokenizer = load_tokenizer(base)
        tell(f"tokenizer of {vocabulary_size(tokenizer)} tokens from {settings.base}")
        if extension := settings.extend:
            tokenizer = _extended(tokenizer, extension, corpus, selection, settings.sample, tell)
        if settings.trim:
            size, every = settings.sample, corpus.languages
            samples = [sample_documents(corpus, selection, lang, size) for lang in every]
            tokenizer = trim_tokenizer(tokenizer, corpus.chosen_texts(np.concatenate(samples)))
            tell(f"{vocabulary_size(tokenizer)} tokens are left, all that the text read is made of")
    for lang in corpus.languages if settings.byte_fallback == "refuse" else ():
        texts = corpus.chosen_texts(sample_documents(corpus, selection, lang, _TRIED))
        if caution := measure_texts(tokenizer, {lang: texts})[lang].caution:
            raise _unfit(caution, lang, "hint_base" if base else "hint_own")
    save_tokenizer(tokenizer, place, base, settings.document_start)
    return tokenizer


def check_spelling(recipe: TextRecipe, sources: Sequence[TextSource]) -> None:
    """Refuse text that the base's tokenizer spells by bytes, by a sample of what is on this disk.

    Text that it has no letters for is left to `make_tokenizer`, which knows what cleaning drops.
    """
    settings = recipe.tokens
    if settings.base is None or settings.byte_fallback == "allow":
        return
    extended = settings.extend.languages if settings.extend else ()
    tried = [source for source in sources if source.lang not in extended]
    tokenizer = load_tokenizer(find_tokenizer(settings.base))
    for lang, texts in sample_texts(tried, _GLANCE).items():
        measured = measure_texts(tokenizer, {lang: texts})[lang]
        if measured.spelt_out and measured.caution:
            raise _unfit(measured.caution, lang, "hint_base")


def _unfit(caution: Caution, lang: str, hint: str) -> UserError:
    return UserError(
        caution.sentence, where=f"text of {lang}", hint=PREPARED[hint], code=caution.code
    )


def _extended(
    base: Tokenizer, extension: Extend, corpus: Corpus, selection: Selection, size: int, tell: Say
) -> Tokenizer:
    """The base with new tokens; reports how much they change of text that they do not know."""
    samples = {
        lang: sample_documents(corpus, selection, lang, size)
        for lang in (*extension.languages, *extension.preserve)
    }
    target = {lang: corpus.chosen_texts(samples[lang]) for lang in extension.languages}
    texts = {lang: corpus.chosen_texts(samples[lang]) for lang in extension.preserve}
    preserve = [text for some in texts.values() for text in some]
    extended = extend_tokenizer(base, target, preserve, extension.new_tokens)
    added = f"{len(extended.added)} tokens added for {', '.join(extension.languages)}"
    tell(f"{added}; the text of {', '.join(extension.preserve)} that was read keeps its tokens")
    for lang, some in texts.items():
        unseen, source = _unseen(corpus, samples[lang])
        others = [text for other in texts if other != lang for text in texts[other]]
        seen = [text for text, left_out in zip(some, unseen, strict=True) if not left_out]
        trial = extend_tokenizer(base, target, [*others, *seen], extension.new_tokens).tokenizer
        left = [text for text, left_out in zip(some, unseen, strict=True) if left_out]
        share = changed_share(base, trial, left)
        said = PREPARED["of_a_source"] if source else PREPARED["of_a_tenth"]
        tell(said.format(lang=lang, source=source, share=share))
    return extended.tokenizer


def _unseen(corpus: Corpus, numbers: np.ndarray) -> tuple[np.ndarray, str]:
    """Which documents of a language to leave out for a trial, and what they are.

    They are those of one source: the smallest with a tenth of them, or else the largest. Of a
    single source, which is then not named, every tenth document.
    """
    source = np.array(corpus.titles)[corpus.part_of(numbers)]
    known, counts = np.unique(source, return_counts=True)
    if len(known) == 1:
        return np.arange(len(numbers)) % _EVERY == 0, ""
    large = counts * _EVERY >= len(numbers)
    place = np.where(large, counts, len(numbers)).argmin() if large.any() else counts.argmax()
    return source == known[place], str(known[place])


def _trained(recipe: TextRecipe, corpus: Corpus, selection: Selection, tell: Say) -> Tokenizer:
    settings = recipe.tokens
    size = corpus.sizes[selection.kept]
    lang = corpus.lang[selection.kept]
    available = {name: int(size[lang == code].sum()) for code, name in enumerate(corpus.languages)}
    full = min(settings.sample, max(available.values(), default=0))  # of a smaller one, repeated
    sizes = {name: full if count else 0 for name, count in available.items()}
    samples = {
        name: corpus.chosen_texts(sample_documents(corpus, selection, name, settings.sample))
        for name in corpus.languages
    }
    small = [name for name, size in sizes.items() if size > _REPEATED * available[name]]
    said = PREPARED["repeated"] if small else PREPARED["trained"]
    tell(said.format(size=show_bytes(sum(sizes.values())), small=list_languages(small)))
    tokenizer = train_tokenizer(samples, sizes, settings.vocab_size)
    most = show_bytes(max(sizes.values()))
    tell(f"tokenizer of {vocabulary_size(tokenizer)} tokens from up to {most} per language")
    return tokenizer


def trim_tokenizer(base: Tokenizer, texts: Sequence[str]) -> Tokenizer:
    """Keep the tokens of texts, what they are merged from, special tokens, and every byte.

    The others go, with their merges, and ids close up. Other text can still be written, in more
    tokens where it needs one that is gone.
    """
    layout: Any = json.loads(base.to_str())
    model = layout["model"]
    if model["type"] != "BPE":
        what = f"a tokenizer of kind {model['type']} cannot be trimmed"
        raise UserError(what, where="tokens.trim", hint="leave it out, or take another base")
    vocabulary: dict[str, int] = model["vocab"]
    special = {token.content for token in base.get_added_tokens_decoder().values()}
    kept = special | set(_always(base)) & vocabulary.keys()
    kept |= {str(model["unk_token"])} & vocabulary.keys()
    spelling = {number: token for token, number in vocabulary.items()}
    ranks = {tuple(merge): rank for rank, merge in enumerate(model["merges"])}
    for start in range(0, len(texts), _TEXTS):
        some = list(texts[start : start + _TEXTS])
        for encoding in base.encode_batch_fast(some, add_special_tokens=False):
            kept |= {spelling[number] for number in set(encoding.ids) if number in spelling}
    parts = {part for token in kept - special for part in _merged_from(token, ranks)}
    kept |= parts & vocabulary.keys()
    order = sorted(kept, key=lambda token: (base.token_to_id(token), token))
    ids = {token: number for number, token in enumerate(order)}
    model["vocab"] = {token: ids[token] for token in order if token in vocabulary}
    model["merges"] = [merge for merge in model["merges"] if {*merge, merge[0] + merge[1]} <= kept]
    for token in layout["added_tokens"]:
        token["id"] = ids[token["content"]]
    _renumber(layout["post_processor"] or {}, ids)
    trimmed = Tokenizer.from_str(json.dumps(layout))
    trimmed.encode_special_tokens = True
    return trimmed


def _renumber(processor: dict[str, Any], ids: Mapping[str, int]) -> None:
    """Give the special tokens around texts, also those of a sequence of steps, their new ids."""
    for part in processor.get("processors", ()):
        _renumber(part, ids)
    for key in {"cls", "sep"} & processor.keys():  # as BERT and RoBERTa have them
        processor[key][1] = ids[processor[key][0]]
    named = processor.get("special_tokens", {})
    for token in named.values() if isinstance(named, dict) else ():
        token["ids"] = [ids[name] for name in token["tokens"]]


def _always(base: Tokenizer) -> Iterable[str]:
    """The tokens of single bytes, which spell any text."""
    if is_bytewise(base):
        return byte_alphabet().values()
    return (token for n in byte_tokens(base).values() if (token := base.id_to_token(n)))


def _merged_from(token: str, ranks: dict[tuple[str, ...], int]) -> set[str]:
    """What occurs while a token's characters are merged."""
    parts, met = list(token), set(token)
    while len(parts) > 1:
        known = [(ranks[pair], n) for n, pair in enumerate(pairwise(parts)) if pair in ranks]
        if not known:
            break
        _, place = min(known)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
        met.add(parts[place])
    return met


def sample_documents(
    corpus: Corpus, selection: Selection, lang: str, size: int, *, from_end: bool = True
) -> np.ndarray:
    """Numbers of kept documents of a language, together about as large as `size`.

    They are from the other end of the order of hashes than the held-out ones, or from that one:
    text that no tokenizer was fitted on.
    """
    kept = selection.kept[corpus.lang[selection.kept] == corpus.languages.index(lang)]
    order = kept[np.lexsort((corpus.numbers("exact")[kept], selection.component[kept]))]
    order = order[::-1] if from_end else order
    sizes = np.cumsum(corpus.sizes[order], dtype=np.int64)
    enough = int(np.searchsorted(sizes, size)) + 1
    return order[:enough]
