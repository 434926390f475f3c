"""Texts that an ensemble writes, several side by side, to their ends."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from tongues.experts.ensemble.ensemble import Ensemble
from tongues.experts.ensemble.routing import Routing
from tongues.experts.ensemble.sampling import Sampling
from tongues.experts.ensemble.writer import Text, Writer, broken

__all__ = ["Generated", "generate"]


@dataclass(frozen=True, slots=True, eq=False)
class Generated:
    """What was written behind a prompt."""

    tokens: np.ndarray  # [T], without the one that stopped it
    nats: np.ndarray  # [T], -log p of each under the mixture, before sampling changed it
    weights: np.ndarray  # [T, k], what each expert counted for it
    stopped: bool  # by a stop token, not by the length
    computed: int  # tokens over all experts that ran, the prompt included


def generate(
    ensemble: Ensemble,
    prompts: Sequence[np.ndarray],
    routing: Routing,
    *,
    most: int,
    languages: Sequence[str] | None = None,
    sampling: Sampling | None = None,
    stop: Collection[int] | None = None,
    kept: int | None = None,
) -> list[Generated]:
    """Continue prompts of token ids by at most `most` tokens each.

    A prompt gives the same text alone and among others, up to rounding; one that comes several
    times gives several. languages: of each prompt, for `language`. stop: tokens that end a text;
    the one that ends documents if left out. kept: experts whose memory of the texts is held at
    most; None: all.
    """
    writer, met = Writer(ensemble, kept=kept), dict[bytes, int]()
    found: dict[Text, _Kept] = {}
    for place, prompt in enumerate(prompts):
        tokens = np.asarray(prompt, dtype=np.int64)
        copy = met[tokens.tobytes()] = met.get(tokens.tobytes(), -1) + 1
        text = writer.add(
            tokens,
            routing,
            most=most,
            language=languages[place] if languages else None,
            sampling=sampling,
            stop=stop,
            copy=copy,
        )
        found[text] = _Kept()
    while writer.running:
        for told in writer.step():
            kept_of = found[told.text]
            if told.ended == "broken":
                raise broken(ensemble, told.weights)
            kept_of.stopped = told.ended == "stop"
            if not kept_of.stopped:
                kept_of.log_probs.append(told.log_prob)
                kept_of.weights.append(told.weights)
    return [
        Generated(
            tokens=np.array(text.written, dtype=np.int64),
            nats=-np.array(one.log_probs),
            weights=np.array(one.weights).reshape(-1, ensemble.k),
            stopped=one.stopped,
            computed=text.reading.computed,
        )
        for text, one in found.items()
    ]


@dataclass(slots=True)
class _Kept:
    """What was told of a text."""

    log_probs: list[float] = field(default_factory=list)
    weights: list[np.ndarray] = field(default_factory=list)
    stopped: bool = False
