"""What subjects write behind rows of tokens, and whether a row's end is what they would write."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from tongues.evaluate.rows import Row, Scored
from tongues.experts.ensemble.generate import generate
from tongues.experts.ensemble.model import Model
from tongues.experts.ensemble.request import Sampling

__all__ = ["begins_with", "likeliest", "write"]

_TOGETHER = 32  # texts that are written side by side


def likeliest(subject: Model, rows: Sequence[Row], scored: Sequence[Scored]) -> list[bool]:
    """Whether each row's scored end is what the subject would write, the likeliest token always.

    scored: the rows by `score_rows`. Where that leaves it open, what experts that disagree would
    write together is looked at: of rows that share what stands before, at most those with the
    likeliest first token can be it, and the first token is looked at before the others.
    """
    greedy = [bool((own.best == 1).all()) for own in scored]
    contexts = [row.tokens[: row.start].tobytes() for row in rows]
    least: dict[bytes, float] = {}
    for context, own in zip(contexts, scored, strict=True):
        if len(own.nats):
            least[context] = min(least.get(context, np.inf), float(own.nats[0]))
    open_ = [
        number
        for number, own in enumerate(scored)
        if not (greedy[number] or (own.best == 0).any())
        and own.nats[0] <= least[contexts[number]] + 1e-6
    ]

    def written(numbers: Sequence[int], most: int) -> list[int]:
        begun = [rows[number].tokens[: rows[number].start] for number in numbers]
        languages = [rows[number].language for number in numbers]
        texts = write(subject, begun, most=most, languages=languages)
        ends = [rows[number].tokens[rows[number].start :][:most] for number in numbers]
        both = zip(numbers, texts, ends, strict=True)
        return [number for number, text, end in both if np.array_equal(text, end)]

    open_ = written(open_, 1)
    for length in sorted({len(scored[number].nats) for number in open_}):
        same = [number for number in open_ if len(scored[number].nats) == length]
        for number in same if length == 1 else written(same, length):
            greedy[number] = True
    return greedy


def write(
    subject: Model,
    begun: Sequence[np.ndarray],
    *,
    most: int,
    languages: Sequence[str | None] | None = None,
    sampling: Sampling | None = None,
    stop: Collection[int] = (),
) -> list[np.ndarray]:
    """The tokens written behind rows of tokens, what stands before every text included.

    stop: tokens that end a text. languages: of each row, for the routing `language`.
    """
    written = [np.empty(0, dtype=np.int64)] * len(begun)
    heads: dict[int, list[int]] = {}
    for number in sorted(range(len(begun)), key=lambda number: -len(begun[number])):
        heads.setdefault(int(begun[number][0]), []).append(number)
    for head, numbers in heads.items():
        ensemble = replace(subject.ensemble, end_id=head)  # it begins a text with that
        for start in range(0, len(numbers), _TOGETHER):
            some = numbers[start : start + _TOGETHER]
            texts = generate(
                ensemble,
                [begun[number][1:] for number in some],
                subject.routing,
                most=most,
                languages=[languages[number] or "" for number in some] if languages else None,
                sampling=sampling or Sampling(temperature=0),
                stop=stop,
            )
            for number, text in zip(some, texts, strict=True):
                written[number] = text.tokens
    return written


def begins_with(subject: Model, words: Collection[str]) -> list[int]:
    """The tokens whose text begins with one of these words: nothing is lost by stopping at one."""
    anchor, count = subject.encode("a").tolist(), subject.tokenizer.get_vocab_size()
    before = subject.tokenizer.decode(anchor, skip_special_tokens=False)
    rows = [[*anchor, number] for number in range(count)]
    texts = subject.tokenizer.decode_batch(rows, skip_special_tokens=False)
    return [n for n, text in enumerate(texts) if text[len(before) :].startswith(tuple(words))]
