"""Texts that switch between two languages, made of held-out documents, and losses on them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

import numpy as np
from tokenizers import Tokenizer

from tongues.evaluate.evaluation import NATS_PER_TOKEN, MixedLoss, MixedScores
from tongues.experts.ensemble.ensemble import Ensemble, expert_log_probs, mixed
from tongues.experts.ensemble.routing import Routing
from tongues.randomness import derive_seed
from tongues.significance import holm, measured_loss, paired_loss

_LEAST, _MOST = 24, 60  # tokens of a part: as many whole sentences as have the least
_PARTS = 2  # of each language, at most
_TEXTS = 64
_SENTENCE = re.compile(r"(?<=[.!?…։।؟])\s+|(?<=[。！？])|\n+")  # where one ends


@dataclass(frozen=True, slots=True, eq=False)
class MixedText:
    """A text in two languages by turns: its tokens, and the language of each."""

    tokens: np.ndarray
    languages: Sequence[str]


def mixed_texts(
    texts: Mapping[str, Sequence[str]], tokenizer: Tokenizer, seed: int = 0
) -> list[MixedText]:
    """Pairs of documents in two languages, whose first sentences follow each other by turns.

    texts: documents by language. Each is used at most once, and all languages equally often. There
    are up to 64 pairs; none where there is one language.
    """
    random = np.random.default_rng(derive_seed(seed, "mixed text"))
    orders: dict[str, list[int]] = {
        lang: random.permutation(len(own)).tolist() for lang, own in texts.items()
    }
    shuffled = {lang: [texts[lang][n] for n in order] for lang, order in orders.items()}
    made: list[MixedText] = []
    for place in range(min(map(len, texts.values()), default=0)):
        langs = [str(lang) for lang in random.permutation(list(texts))]
        for pair in zip(langs[::2], langs[1::2], strict=False):
            own = [
                [(lang, ids) for ids in _parts(shuffled[lang][place], tokenizer)] for lang in pair
            ]
            turns = [part for part in chain(*zip_longest(*own)) if part]
            if len(made) < _TEXTS and all(own):
                tokens = np.concatenate([ids for _, ids in turns])
                made.append(MixedText(tokens, [lang for lang, ids in turns for _ in ids]))
    return made


def _parts(text: str, tokenizer: Tokenizer) -> list[list[int]]:
    """The first sentences of a document, in parts of about the same length."""
    parts, ids = list[list[int]](), list[int]()
    for sentence in filter(None, map(str.strip, _SENTENCE.split(text))):
        ids += tokenizer.encode(f" {sentence}", add_special_tokens=False).ids
        if len(ids) >= _LEAST:
            parts.append(ids[:_MOST])
            ids = []
        if len(parts) == _PARTS:
            return parts
    return [*parts, ids] if ids else parts


def mixed_scores(
    texts: Sequence[MixedText],
    groups: Iterable[tuple[Sequence[str], Mapping[str, Routing]]],
    opened: Callable[[str], Ensemble],
    *,
    context: int | None = None,
) -> MixedScores | None:
    """The losses of models on these texts, with intervals over texts; None where there is none.

    groups: ensembles that are scored as their mean, such as those of several random seeds, and the
    routings by the names of the models. opened: opens an ensemble by its name.
    """
    if not texts:
        return None
    sizes = np.array([len(text.tokens) for text in texts])
    losses: dict[str, MixedLoss] = {}
    for ensembles, ways in groups:
        each = [
            mixed_nats(texts, opened(name), [*ways.values()], context=context) for name in ensembles
        ]
        nats = dict(zip(ways, np.mean(each, axis=0), strict=True))
        given = next((nats[name] for name, way in ways.items() if way.name == "language"), None)
        for name, own in nats.items():
            loss = replace(measured_loss(own, sizes), unit=NATS_PER_TOKEN)
            versus = None
            if given is not None and own is not given:
                versus = replace(paired_loss(own, given, sizes), unit=NATS_PER_TOKEN)
            losses[name] = MixedLoss(loss, versus)
    versus = holm({name: of.versus_given for name, of in losses.items() if of.versus_given})
    return MixedScores(
        len(texts),
        int(sizes.sum()),
        {name: replace(of, versus_given=versus.get(name)) for name, of in losses.items()},
    )


def mixed_nats(
    texts: Sequence[MixedText],
    ensemble: Ensemble,
    routings: Sequence[Routing],
    *,
    context: int | None = None,
) -> list[np.ndarray]:
    """The nats of each text by each routing; one that needs the language is given every token's.

    context: tokens of a window; None: what the experts can see.
    """
    read = expert_log_probs(ensemble, [text.tokens for text in texts], context=context)
    pairs = list(zip(texts, read, strict=True))
    return [
        np.array([-mixed(_weights(text, ensemble, way), logs).sum() for text, logs in pairs])
        for way in routings
    ]


def _weights(text: MixedText, ensemble: Ensemble, routing: Routing) -> np.ndarray:
    if not routing.needs_language:
        return routing.weights(text.tokens, ensemble.about(routing))
    weights, langs = np.zeros((len(text.tokens), ensemble.k)), np.array(text.languages)
    for lang in dict.fromkeys(text.languages):
        about = ensemble.about(routing, lang)
        weights[langs == lang] = routing.weights(text.tokens, about)[langs == lang]
    return weights
