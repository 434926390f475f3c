"""Whether to keep a base's tokenizer or to extend it.

New tokens shorten the text, and so the training and every later use; each has to be learned from
scratch. Of published projects those extended whose text got shorter by about half (Krikri, Sherkala
40 and 57 %); others kept the tokenizer, extensions of Swallow and SambaLingo gained nothing on
tasks, and those of LlamaTurk and Tweety, on few tokens, lost.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tongues.core.estimate import Estimate
from tongues.languages.catalogue import find_language
from tongues.languages.fertility import extended_bytes_per_token
from tongues.plan.bases import BaseCheckpoint
from tongues.plan.question import Target

# Extensions that are tried; chosen: doublings up to about what LlamaTurk added (28k).
_SIZES = (4_000, 8_000, 16_000, 32_000)
MOST_NEW = _SIZES[-1]  # tokens of all languages together
_SAVES = 0.45  # of the tokens, from where it is worth new rows
READ = 50_000  # training tokens for each new one; LlamaTurk's 28k on 0.27B (9,800) hurt
_GAINS = 0.05  # more of the tokens, from where a larger extension is worth it


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What to do with the tokenizer of a base for one language.

    new_tokens: 0 keeps it as it is. before, after: bytes per token. rows: parameters of the new
    tokens' rows. reason: a code: `suits`, `too_short`, `saves`, `assumed` or `unknown`.
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
    before, matrices = target.bytes_per_token(base), 1 if base.tied else 2
    if not target.language or not base.tokenizer:
        reason = "assumed" if target.language else "unknown"
        return Vocabulary(0, before, before, 0.0, reason)
    one, after = find_language(target.language), {0: before}
    for size in (size for size in _SIZES if size <= most):
        after[size] = extended_bytes_per_token(one, base.tokenizer, size, before)
    curve = {size: estimate.value for size, estimate in after.items()}
    added = worth_adding(curve, tokens) if learns else 0
    reason = "saves" if added else "too_short" if worth_adding(curve) else "suits"
    return Vocabulary(added, before, after[added], matrices * added * (base.hidden or 0.0), reason)


def worth_adding(per_token: Mapping[int, float], tokens: float = math.inf) -> int:
    """The most new tokens that are worth it; 0 for none.

    per_token: bytes per token by the number of new ones, from 0 on. tokens: of training in the
    language, by the tokenizer as it is; infinite where that is open.
    """
    found, most = 0, 0.0
    for count, value in per_token.items():
        saved = 1.0 - per_token[0] / value
        read_enough = tokens * (1.0 - saved) >= READ * count
        if read_enough and saved >= max(_SAVES, most + _GAINS):
            found, most = count, saved
    return found
