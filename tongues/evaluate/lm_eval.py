"""EleutherAI's lm-evaluation-harness: runs, ensembles and folders as its models.

`simple_evaluate(model=as_lm_eval(NAME, workspace), ...)`.
"""

import importlib
import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from langcodes import standardize_tag, tag_is_valid

from tongues.core.errors import UserError
from tongues.core.extras import require
from tongues.evaluate.losses import Policy
from tongues.evaluate.rows import Row, TokenLosses, score_rows, too_long
from tongues.evaluate.texts import token_nats
from tongues.experts.ensemble.generate import generate
from tongues.experts.ensemble.model import Model, open_model
from tongues.experts.ensemble.request import Sampling
from tongues.text.tokens.frame import named_token, read_settings

require("lm_eval", "lm-eval")
TemplateLM: Any = importlib.import_module("lm_eval.api.model").TemplateLM

_LOG = logging.getLogger("lm_eval.tongues")
_BATCH = 32  # chosen; texts generated together: memory grows with it
_KNOWN = {"until", "max_gen_toks", "do_sample", "temperature", "top_p", "top_k"}


class LmEvalModel(TemplateLM):
    """A model of lm-eval that scores and generates as `tongues evaluate` and `tongues generate` do.

    model: an open model, used by its routing; a routing that needs the language gets the task's. A
    request longer than the context loses its beginning, as lm-eval has it.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.loaded = model
        self._stops: dict[tuple[str, ...], list[int]] = {}

    @property
    def eot_token_id(self) -> int:
        """The token that ends a text."""
        return self.loaded.ensemble.frame.end

    @cached_property
    def prefix_token_id(self) -> int:
        """What a text without a context is predicted from: the tokenizer's `bos_token`, if any."""
        settings = read_settings(self.loaded.ensemble.tokenizer / "tokenizer_config.json")
        named = named_token(self.loaded.tokenizer, settings, "bos_token")
        return self.loaded.first if named is None else named

    @property
    def max_length(self) -> int | None:
        """The context; None: any."""
        return self.loaded.ensemble.context

    def tok_encode(
        self, string: str, add_special_tokens: bool | None = None, **kwargs: Any
    ) -> list[int]:
        """A text's token ids, behind the token before prompts unless that is not wanted."""
        ids = self.loaded.encode(string).tolist()
        begun = add_special_tokens is None and ids[:1] == [self.loaded.first]
        bare = add_special_tokens is False or begun or not self.loaded.prompted
        return ids if bare else [self.loaded.first, *ids]

    def tok_decode(self, tokens: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of token ids."""
        return self.loaded.tokenizer.decode(list(tokens), skip_special_tokens=skip_special_tokens)

    def loglikelihood(
        self, requests: Sequence[Any], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """Each continuation's log-probability behind its context, and whether it is greedy."""
        families: dict[tuple[int, ...], int] = {}
        rows: list[Row] = []
        for request, language in zip(requests, self._languages(requests), strict=True):
            context, continuation = self._encode_pair(*request.args)
            tokens = np.array([*context, *continuation], dtype=np.int64)
            family = families.setdefault(tuple(context), len(families))
            rows.append(self._fitting(Row(tokens, len(context), language, family), request))
        with _progress(disable_tqdm) as tell:
            scored = score_rows(self.loaded, rows, tell=tell)
        greedy = would_write(self.loaded, rows, scored)
        sums = (-float(own.nats.sum()) for own in scored)
        return list(zip(sums, greedy, strict=True))

    def _loglikelihood_tokens(self, *args: Any, **kwargs: Any) -> Any:
        """Of requests in tokens, which lm-eval makes of those above alone."""
        raise NotImplementedError

    def loglikelihood_rolling(
        self, requests: Sequence[Any], disable_tqdm: bool = False
    ) -> list[float]:
        """Each text's log-probability, in lm-eval's windows.

        A token that the tokenizer puts before texts is scored too, behind itself, as lm-eval does.
        """
        texts = [np.array(self.tok_encode(each.args[0]), dtype=np.int64) for each in requests]
        begun = replace(self.loaded, first=self.prefix_token_id)
        languages = self._languages(requests)
        with _progress(disable_tqdm) as tell:
            nats = token_nats(begun, texts, Policy(back=True), languages=languages, tell=tell)
        return [-float(own.sum()) for own in nats]

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
        """What is generated behind each context, up to the first of its stop words."""
        utilities = importlib.import_module("lm_eval.models.utils")
        texts, languages = [""] * len(requests), self._languages(requests)
        ways: dict[str, list[int]] = {}
        for number, request in enumerate(requests):
            ways.setdefault(repr(request.args[1]), []).append(number)
        for numbers in ways.values():
            options = utilities.normalize_gen_kwargs(requests[numbers[0]].args[1])
            count, until = options["max_gen_toks"], tuple(filter(None, options["until"]))
            if until not in self._stops:  # tokens at which a text can be ended at once
                self._stops[until] = begins_with(self.loaded, until) if until else []
            written = write(
                self.loaded,
                [self._begun(requests[number], count) for number in numbers],
                max_tokens=count,
                languages=[languages[number] for number in numbers],
                sampling=_sampling(options),
                stop=[self.eot_token_id, *self._stops[until]],
            )
            for number, tokens in zip(numbers, written, strict=True):
                text = self.tok_decode(tokens.tolist())
                texts[number] = utilities.postprocess_generated_text(text, list(until), None)
        return texts

    def _encode_pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        length = len(self.tok_encode(context.rstrip()))
        whole = self.tok_encode(context + continuation)
        return (whole[:length], whole[length:]) if length else ([self.prefix_token_id], whole)

    def _fitting(self, row: Row, request: Any) -> Row:
        if row.start >= len(row.tokens):
            raise UserError("a continuation of no tokens", where=_place(request))
        if not too_long(self.loaded, row):
            return row
        surplus = len(row.tokens) - 1 - (self.loaded.ensemble.context or 0)
        if surplus >= row.start:
            hint = "leave it out"
            raise UserError("the continuation alone is too long", where=_place(request), hint=hint)
        return Row(row.tokens[surplus:], row.start - surplus, row.language, -1 - row.family)

    def _begun(self, request: Any, count: int) -> np.ndarray:
        tokens = self.tok_encode(request.args[0]) or [self.prefix_token_id]
        context, length = self.loaded.ensemble.context, len(tokens) - 1 + count
        if context is not None and length > context:
            if count >= context:
                what = (
                    f"{count} tokens to generate; the context of `{self.loaded.name}` is {context}"
                )
                hint = "lower `max_gen_toks` in a file of the task, or leave the task out"
                raise UserError(what, where=_place(request), hint=hint)
            tokens = tokens[length - context :]
        return np.array(tokens, dtype=np.int64)

    def _languages(self, requests: Sequence[Any]) -> list[str | None]:
        """Those of the requests' tasks, where an expert was trained on them."""
        known = self.loaded.ensemble.lineage.languages
        return [language_of(request.task_name or "", request.doc, known) for request in requests]


def as_lm_eval(name: str, workspace: str | Path = ".") -> LmEvalModel:
    """What lm-eval takes as `model`; name: as `tongues evaluate` takes it."""
    return LmEvalModel(open_model(name, Path(workspace)))


def language_of(task: str, doc: Any, known: Mapping[str, Any]) -> str | None:
    """The known language in a task's document or, from its end, in the task's name."""
    tags = {standardize_tag(tag, macro=True): tag for tag in known if tag_is_valid(tag)}
    words = [doc.get("language"), doc.get("lang")] if isinstance(doc, Mapping) else []
    parts = re.split(r"[_\-]", task)
    for place in reversed(range(len(parts))):
        words += ["-".join(parts[place : place + 2]), parts[place]]
    for word in words:
        if isinstance(word, str) and tag_is_valid(word):
            tag = tags.get(standardize_tag(word, macro=True))
            if tag:
                return tag
    return None


def would_write(model: Model, rows: Sequence[Row], losses: Sequence[TokenLosses]) -> list[bool]:
    """Whether each row's scored end is the model's greedy continuation.

    losses: the rows by `score_rows`. Where these leave it open, because active experts disagree,
    the mixture continues the context, as far as the longest of its ends.
    """
    greedy = [bool((row.greedy == 1).all()) for row in losses]
    unknown: dict[tuple[bytes, str | None], list[int]] = {}
    for number, (row, loss) in enumerate(zip(rows, losses, strict=True)):
        if not (greedy[number] or (loss.greedy == 0).any()):
            context = row.tokens[: row.start].tobytes()
            unknown.setdefault((context, row.language), []).append(number)
    firsts = [rows[numbers[0]] for numbers in unknown.values()]
    texts = write(
        model,
        [row.tokens[: row.start] for row in firsts],
        max_tokens=[max(len(losses[n].nats) for n in numbers) for numbers in unknown.values()],
        languages=[row.language for row in firsts],
    )
    for text, numbers in zip(texts, unknown.values(), strict=True):
        for number in numbers:
            end = rows[number].tokens[rows[number].start :]
            greedy[number] = np.array_equal(text[: len(end)], end)
    return greedy


def write(
    model: Model,
    begun: Sequence[np.ndarray],
    *,
    max_tokens: int | Sequence[int],
    languages: Sequence[str | None] | None = None,
    sampling: Sampling | None = None,
    stop: Collection[int] = (),
) -> list[np.ndarray]:
    """The tokens generated behind contexts, whose first token is that before every text.

    max_tokens: one number, or one per context. stop: tokens that end a text.
    """
    written = [np.empty(0, dtype=np.int64)] * len(begun)
    order = sorted(range(len(begun)), key=lambda number: -len(begun[number]))
    for start in range(0, len(order), _BATCH):
        some = order[start : start + _BATCH]
        texts = generate(
            model.ensemble,
            [begun[number][1:] for number in some],
            model.routing,
            most=max_tokens if isinstance(max_tokens, int) else [max_tokens[n] for n in some],
            firsts=[int(begun[number][0]) for number in some],
            languages=[languages[number] for number in some] if languages else None,
            sampling=sampling or Sampling(temperature=0),
            stop=stop,
        )
        for number, text in zip(some, texts, strict=True):
            ids = [token.id for token in text if token.ended != "stop"]
            written[number] = np.array(ids, dtype=np.int64)
    return written


def begins_with(model: Model, words: Collection[str]) -> list[int]:
    """The tokens whose text begins with one of these words, at which generation may stop."""
    anchor, count = model.encode("a").tolist(), model.tokenizer.get_vocab_size()
    before = model.tokenizer.decode(anchor, skip_special_tokens=False)
    rows = [[*anchor, number] for number in range(count)]
    texts = model.tokenizer.decode_batch(rows, skip_special_tokens=False)
    return [n for n, text in enumerate(texts) if text[len(before) :].startswith(tuple(words))]


@contextmanager
def _progress(disabled: bool) -> Iterator[Any]:
    tqdm = importlib.import_module("tqdm").tqdm
    with tqdm(bar_format="{desc}", disable=disabled, leave=False) as bar:
        yield lambda share, line: bar.set_description_str(line)


def _sampling(options: Mapping[str, Any]) -> Sampling:
    ignored = {key for key in options.keys() - _KNOWN if options[key] not in (None, 1, 1.0, False)}
    if ignored:
        _LOG.warning("generation options that are ignored: %s", ", ".join(sorted(ignored)))
    if not options["do_sample"]:
        return Sampling(temperature=0)
    temperature, top_k = options.get("temperature", 1.0), options.get("top_k") or None
    return Sampling(temperature, top_k, options.get("top_p"))


def _place(request: Any) -> str:
    return f"{request.task_name}, document {request.doc_id}"
