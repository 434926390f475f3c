"""The text of a new recipe: how much there is, in tokens of its base, and how often to read it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tongues.errors import UserError
from tongues.languages import Language
from tongues.languages.fertility import bytes_per_token
from tongues.plan import ReadyBase
from tongues.plan.bases import known_bases, read_base
from tongues.quantities import show_bytes, show_count
from tongues.text.folder import check_language, find_texts
from tongues.tokens.trial import TokenizerTrial, try_tokenizer

USUAL_BUDGET = 100_000_000  # tokens
_PER_TOKEN = 4  # bytes of text in a token, where nothing is known of the language
_LEAST = 2000  # tokens of text; `prepare` refuses fewer where 1,000 are held out
_OFTEN = 5  # times that text is read, beyond which a repeat gains less than new text


@dataclass(frozen=True, slots=True)
class OwnText:
    """Text of a language to learn and of what is replayed.

    sizes: bytes by language. tokens: of the language to learn. replay: share of a run's tokens.
    trial: of the base's tokenizer; None where that is not on this disk.
    """

    language: str
    files: Mapping[str, Sequence[str]]
    sizes: Mapping[str, int]
    tokens: float
    replay: float
    trial: TokenizerTrial | None

    @property
    def usual_budget(self) -> str:
        """100M tokens, or as many as read a smaller text five times."""
        enough = _OFTEN * self.tokens / (1 - self.replay)
        if enough >= USUAL_BUDGET:
            return f"{show_count(USUAL_BUDGET)} tokens"
        digit = 10 ** max(math.floor(math.log10(enough)) - 1, 0)
        return f"{show_count(max(enough // digit, 1) * digit)} tokens"

    def lines(self, budget: float) -> Iterator[str]:
        """How much there is, how often a budget of tokens reads it, what its tokens are."""
        times = budget * (1 - self.replay) / self.tokens
        whose = " by its tokenizer" if self.trial else ""
        line = f"Text: {show_bytes(self.sizes[self.language])} of `{self.language}`, about "
        line += f"{show_count(self.tokens)} tokens{whose}"
        read = (
            f"of which it reads {100 * times:.2g}%"
            if times < 1
            else f"read about {times:.3g} times"
        )
        yield f"{line}, {read}."
        if times > _OFTEN:
            yield (
                f"Caution: to read a text {times:.3g} times teaches little more than to read "
                f"it {_OFTEN} times: give more text, or a budget of {self.usual_budget}."
            )
        yield from self._tokenizer_lines()

    def _tokenizer_lines(self) -> Iterator[str]:
        if (trial := self.trial) is None:
            return
        if trial.new_tokens:
            yield (
                f"Its tokenizer falls back to bytes for `{self.language}` ({trial.base:.2f} bytes "
                f"per token), so the recipe adds {trial.new_tokens:,} tokens "
                f"({trial.bytes_per_token:.2f})."
            )
        for lang, caution in trial.unfit.items():
            yield (
                f"Caution: text of `{lang}`: {caution.sentence}; the recipe allows it by "
                "`tokens.byte_fallback`, and another base would learn from the same text faster."
            )


def read_own_text(folder: Path, language: Language, ready: ReadyBase) -> OwnText:
    """The text of a folder, checked; a UserError where there is none of the language."""
    target, where = language.tag, f"--text {folder}"
    found = find_texts(folder, tuple(dict.fromkeys((target, *ready.languages))))
    if target not in found:
        hint = f"name a folder with text of `{target}`, such as `{target}/` or `{target}.jsonl`"
        raise UserError(f"there is no text of `{target}`", where=where, hint=f"{hint} in it")
    replay = ready.replay(target, found)
    files = {lang: found[lang] for lang in (target, *replay)}
    texts = check_language(files, where)
    sizes = {lang: text.bytes for lang, text in texts.items()}
    samples = {lang: text.sample for lang, text in texts.items()}
    trial = try_tokenizer(place, target, samples) if (place := ready.tokenizer) else None
    each = trial.bytes_per_token if trial else _per_token(language, ready)
    tokens = sizes[target] / each
    if tokens < _LEAST:
        what = (
            f"about {show_count(tokens)} tokens of `{target}` are too little text: a recipe holds "
        )
        what += "out 1k tokens, and trains on as many at least"
        hint = f"give {show_bytes(2 * _LEAST * each)} or more"
        raise UserError(what, where=where, hint=hint)
    return OwnText(target, files, sizes, tokens, sum(replay.values()), trial)


def plan_name(ready: ReadyBase) -> str:
    """The base as a plan takes it."""
    known = ready.base if ready.base in known_bases() else ""
    return ready.folder or known or f"{ready.short}={ready.parameters}"


def _per_token(language: Language, ready: ReadyBase) -> float:
    """Bytes of text in a token, as the plan counts them."""
    each = bytes_per_token(language, read_base(plan_name(ready)).tokenizer).value
    return _PER_TOKEN if math.isnan(each) else each
