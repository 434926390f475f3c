"""Short texts with the weights that a router gives each of their tokens, to be looked at."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer

from tongues.experts.ensemble.lineage import Lineage
from tongues.experts.ensemble.router import Router

_LANGUAGES = 8  # that are shown, at most
_TOKENS = 40  # of a text
_LEAST = 0.01  # weights from it on
_SEVERAL, _FEW_TOKENS = 4, 20  # languages of the text in several, and tokens of each


@dataclass(frozen=True, slots=True)
class RoutedSpan:
    """Letters of a text, and the weights from 1 % on of the experts, by number, that read them."""

    text: str
    weights: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RoutedText:
    """The beginning of a text in one language, or of several one after the other."""

    languages: Sequence[str]
    spans: Sequence[RoutedSpan]


def routed_texts(
    lineage: Lineage, router: Router, tokenizer: Tokenizer, text: Mapping[str, Sequence[np.ndarray]]
) -> list[RoutedText]:
    """Beginnings of held-out texts: one that goes through languages of several experts, then each.

    Every span has the weights of the experts, by number, that follow from the text before it.
    """
    begun = {lang: documents[0] for lang, documents in text.items() if documents}
    places = np.linspace(0, len(begun) - 1, min(len(begun), _LANGUAGES)).round().astype(int)
    shown = [[list(begun)[place]] for place in places]
    first: dict[str, str] = {}  # a language of each expert
    for lang in begun:
        if lang in lineage.languages:
            first.setdefault(lineage.languages[lang], lang)
    if len(first) > 1:
        shown.insert(0, list(first.values())[:_SEVERAL])
    texts = []
    for langs in shown:
        most = _TOKENS if len(langs) == 1 else _FEW_TOKENS
        parts = [begun[lang][:most] for lang in langs]
        texts.append(RoutedText(tuple(langs), tuple(_weighed(router, tokenizer, parts))))
    return texts


def spelt(tokenizer: Tokenizer, tokens: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The text of tokens in spans of whole characters, with the number of tokens up to each end.

    Letters that several tokens share are of the last of them.
    """
    done = 0
    for count in range(1, len(tokens) + 1):
        so_far = tokenizer.decode(list(tokens[:count]), skip_special_tokens=False)
        if so_far.endswith("\ufffd") and count < len(tokens):
            continue
        if count == len(tokens):
            so_far = so_far.rstrip("\ufffd")
        if len(so_far) > done:
            yield count, so_far[done:]
        done = len(so_far)


def _weighed(
    router: Router, tokenizer: Tokenizer, parts: Sequence[np.ndarray]
) -> Iterator[RoutedSpan]:
    beliefs = router.filter.beliefs(np.concatenate(parts))
    weights, start = beliefs @ router.owned, 0
    for part in parts:
        gap = " " if start else ""  # texts do not run into each other
        for count, text in spelt(tokenizer, part.tolist()):
            own = weights[start + count - 1].round(3).tolist()
            least = min(_LEAST, max(own))
            shown = {str(number): weight for number, weight in enumerate(own) if weight >= least}
            yield RoutedSpan(gap + text.removeprefix(gap), shown)
            gap = ""
        start += len(part)
