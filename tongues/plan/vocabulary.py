"""Whether to keep a base's tokenizer or to extend it.

New tokens shorten the text, and so the training and every later use; each has to be learned from
scratch. Of published projects those extended whose text got shorter by about half (Krikri, Sherkala
40 and 57 %); others kept the tokenizer, extensions of Swallow and SambaLingo gained nothing on
tasks, and those of LlamaTurk and Tweety, on few tokens, lost.
"""

from dataclasses import dataclass
from functools import partial

from tongues.estimate import Estimate
from tongues.languages.catalogue import find_language
from tongues.languages.fertility import extended_bytes_per_token
from tongues.plan.bases import BaseCheckpoint
from tongues.plan.question import Target

_SIZES = (4_000, 8_000, 16_000, 32_000)
MOST_NEW = _SIZES[-1]  # tokens of all languages together
_SAVES = 0.45  # of the tokens, from where it is worth new rows
_READ = 50_000  # training tokens for each new one; LlamaTurk's 28k on 0.27B (9,800) hurt
_GAINS = 0.05  # more of the tokens, from where a larger extension is worth it


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What to do with the tokenizer of a base for one language.

    new_tokens: 0 keeps it as it is. before, after: bytes per token. rows: parameters of the new
    tokens' rows. reason: a code: `suits`, `too_short`, `saves` or `unknown`.
    """

    new_tokens: int
    before: Estimate
    after: Estimate
    rows: float
    reason: str

    @property
    def saved(self) -> float:
        """Share of the text's tokens that the extension saves."""
        return 1.0 - self.before.value / self.after.value


def choose_vocabulary(
    target: Target,
    base: BaseCheckpoint,
    tokens: float,
    *,
    learns: bool = True,
    most: int = MOST_NEW,
) -> Vocabulary:
    """Keep or extend, for training on `tokens` of the language by the base's own tokenizer.

    learns: whether the training method can learn new rows. most: new tokens.
    """
    before = target.bytes_per_token(base)
    keep = partial(Vocabulary, 0, before, before, 0.0)
    if not target.language or not base.tokenizer:
        return keep(reason="unknown")
    one, matrices = find_language(target.language), 1 if base.tied else 2
    found, reason = keep(reason="suits"), "suits"
    for size in (size for size in _SIZES if size <= most):
        after = extended_bytes_per_token(one, base.tokenizer, size, before)
        rows = float(matrices * size * (base.hidden or 0))
        bigger = Vocabulary(size, before, after, rows, "saves")
        if bigger.saved < max(_SAVES, found.saved + _GAINS):
            continue
        if tokens * (1.0 - bigger.saved) < _READ * size or not learns:
            reason = "too_short" if not found.new_tokens else found.reason
            continue
        found = bigger
    return found if found.new_tokens else keep(reason=reason)
