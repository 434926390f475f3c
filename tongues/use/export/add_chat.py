"""An instruction residual added to an exported folder, as much of it as held-out text allows."""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tongues.core.foreign.folder import check_foreign, foreign
from tongues.core.pages import Table, as_markdown, text_table
from tongues.core.ranks import Say
from tongues.text import Document
from tongues.text.tokens import tokenizer_files
from tongues.use.export.chat import Residual, adopt_chat, adopt_tokens
from tongues.use.export.held_out import bits, held_out_losses

_WEIGHTS = (0.25, 0.5, 0.75, 1.0)  # chosen; 1 adds all that tuning changed
_RISE = 0.01  # of the target text's bits per byte, at most; chosen


@dataclass(frozen=True, slots=True)
class Trial:
    """A weight of the residual and what the model is with it."""

    weight: float
    bits_per_byte: Mapping[str, float]  # by language
    rise: float  # of the worst language's bits per byte, as a share; 0 where there is no text

    def row(self) -> dict[str, str]:
        """As a table has it."""
        losses = {f"{lang} bits/byte": f"{value:.4f}" for lang, value in self.bits_per_byte.items()}
        rise = {"worst rise": f"{self.rise:+.2%}".replace("-", "−")} if losses else {}
        return {"weight": f"{self.weight:g}", **losses, **rise}


def add_chat(
    folder: Path,
    instruct: Path,
    base: Path,
    weight: float | None,
    texts: Mapping[str, Sequence[Document]],
    say: Say,
) -> list[str]:
    """Make a trained model one that can chat; what its card says of it.

    weight: of what tuning changed in the base; None: chosen among 0.25, 0.5, 0.75 and 1. texts:
    held out, of the target languages.
    """
    check_foreign(instruct)
    with ExitStack() as opened:
        with foreign(str(instruct)):
            adopted = adopt_tokens(folder, instruct)
            residual = opened.enter_context(Residual(folder, instruct, base))
        for caution in residual.cautions:
            say(f"caution: {caution}")
        trials = _trials(residual, folder, instruct, texts, (weight,) if weight else _WEIGHTS)
        chosen, caution = choose(trials)
        residual.write(folder, chosen.weight)
    adopt_chat(folder, instruct)
    rows = [trial.row() for trial in trials]
    say(text_table(rows))
    say(f"weight {chosen.weight:g}")
    if caution:
        say(f"caution: {caution}")
    head = (
        f"It can chat by an instruction residual: {chosen.weight:g} times what instruction tuning "
        f"changed from `{base.name}` to `{instruct.name}` was added to the weights. Embeddings of "
        "special tokens, the chat template and the end of a turn are those of the latter."
    )
    new = f" Tokens that the tokenizer got for it: {', '.join(adopted)}." if adopted else ""
    why = ["Weights that were tried, on held-out text:"]
    cautions = [f"Caution: {each.rpartition(' (')[0]}." for each in residual.cautions]
    return [head + new, *why, as_markdown([Table.of(rows)]), *cautions]


def _trials(
    residual: Residual,
    folder: Path,
    instruct: Path,
    texts: Mapping[str, Sequence[Document]],
    weights: Sequence[float],
) -> list[Trial]:
    """Each weight tried, 0 first; one candidate at a time is on disk and in memory."""
    trials: list[Trial] = []
    for weight in (0.0, *weights):
        with TemporaryDirectory(dir=folder.parent) as scratch:
            place = Path(scratch)
            for file in (folder / "config.json", *tokenizer_files(folder)):
                shutil.copyfile(file, place / file.name)
            residual.write(place, weight)
            losses = held_out_losses(place, texts)
            values = {lang: bits(of).value for lang, of in losses.items()}
            first = trials[0].bits_per_byte if trials else values
            rise = max((values[lang] / first[lang] - 1 for lang in values), default=0.0)
            trials.append(Trial(weight, values, rise))
    return trials


def choose(trials: Sequence[Trial]) -> tuple[Trial, str]:
    """The trial to take, and a caution where none is good.

    The largest that raises no target language's loss by more than 1 %; where none is within that,
    the smallest.
    """
    tried = [trial for trial in trials if trial.weight > 0]
    within = [trial for trial in tried if trial.rise <= _RISE]
    if within:
        return max(within, key=lambda trial: trial.weight), ""
    least = min(tried, key=lambda trial: trial.weight)
    caution = (
        f"even a weight of {least.weight:g} raises the held-out loss by {least.rise:.1%}: see "
        "whether the answers are worth it (chat_costs)"
    )
    return least, caution
