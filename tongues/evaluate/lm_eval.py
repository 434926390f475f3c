"""EleutherAI's lm-evaluation-harness: runs, ensembles and folders as its models.

In Python `simple_evaluate(model=as_lm_eval(NAME, workspace), ...)`; on the command line
`python -m tongues.evaluate.lm_eval --model tongues --model_args name=NAME ...`, which is lm-eval's
own with one more model, since lm-eval finds models of other packages only where they are registered
first.
"""

import importlib
import logging
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from langcodes import standardize_tag, tag_is_valid
from pydantic import TypeAdapter, ValidationError

from tongues.errors import UserError
from tongues.evaluate.losses import Policy
from tongues.evaluate.rows import Row, score_rows, too_long
from tongues.evaluate.texts import token_nats
from tongues.evaluate.writing import begins_with, likeliest, write
from tongues.experts.ensemble.model import Model, open_model, place_of
from tongues.experts.ensemble.request import Sampling
from tongues.experts.ensemble.routing import parse_routing
from tongues.quantities import Bytes

__all__ = ["LmEvalModel", "as_lm_eval", "language_of", "main"]

try:
    TemplateLM: Any = importlib.import_module("lm_eval.api.model").TemplateLM
except ModuleNotFoundError as error:
    what, hint = "needs the package `lm_eval`", "install it: `pip install 'tongues[eval]'`"
    raise UserError(what, where="lm-eval", hint=hint) from error

_LOG = logging.getLogger("lm_eval.tongues")
_KNOWN = {"until", "max_gen_toks", "do_sample", "temperature", "top_p", "top_k"}


class LmEvalModel(TemplateLM):
    """A model of lm-eval that scores and writes as `tongues evaluate` and `tongues generate` do.

    Parameters
    ----------
    name: as `tongues evaluate` takes it. An ensemble without a routing behind its name goes by the
        task's language where that is known and an expert learned it, else by the text.
    workspace: where runs and ensembles lie.
    memory: bytes of experts to hold at most, such as `2GB`.
    long: `stop` at a request longer than the model sees, or `cut` its beginning, as lm-eval does.
    batch_size, max_batch_size, device: given by lm-eval's command line and passed over: batches
        follow from what fits, and models lie where those of `tongues evaluate` do.
    """

    def __init__(
        self,
        name: str,
        workspace: str | Path = ".",
        *,
        memory: str | None = None,
        long: Literal["stop", "cut"] = "stop",
        batch_size: int | str | None = None,
        max_batch_size: int | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__()
        if long not in ("stop", "cut"):
            raise UserError(f"`{long}` is neither `stop` nor `cut`", where="long")
        try:
            most = TypeAdapter(Bytes).validate_python(memory) if memory else None
        except ValidationError as error:
            reason = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise UserError(reason, where="memory") from None
        self.subject = open_model(name, Path(workspace), max_memory=most)
        self.long = long
        _, routing = place_of(name, Path(workspace))
        self._free = self.subject.ensemble.k > 1 and routing is None
        self._stops: dict[tuple[str, ...], list[int]] = {}

    @property
    def eot_token_id(self) -> int:
        """The token that ends a text."""
        return self.subject.ensemble.end_id

    @property
    def prefix_token_id(self) -> int:
        """The token that stands before every text."""
        return self.subject.first

    @property
    def max_length(self) -> int | None:
        """Tokens that are seen at once; None: any."""
        return self.subject.ensemble.context

    def get_model_info(self) -> dict[str, str]:
        """What stands with the results."""
        routing = "language, else text" if self._free else str(self.subject.routing)
        return {
            "tongues_name": self.subject.name,
            "tongues_routing": routing,
            "tongues_fingerprint": self.subject.fingerprint,
        }

    def tok_encode(
        self, string: str, add_special_tokens: bool | None = None, **kwargs: Any
    ) -> list[int]:
        """A text's token ids, behind what stands before prompts unless that is not wanted."""
        ids = self.subject.encode(string).tolist()
        begun = add_special_tokens is None and ids[:1] == [self.subject.first]
        bare = add_special_tokens is False or begun or not self.subject.prompted
        return ids if bare else [self.subject.first, *ids]

    def tok_decode(self, tokens: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of token ids."""
        return self.subject.tokenizer.decode(list(tokens), skip_special_tokens=skip_special_tokens)

    def loglikelihood(
        self, requests: Sequence[Any], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """Each continuation's log-probability behind its context; whether it would be written."""
        pairs = [self._encode_pair(*request.args) for request in requests]
        return self._answers(pairs, requests, disable_tqdm)

    def loglikelihood_rolling(
        self, requests: Sequence[Any], disable_tqdm: bool = False
    ) -> list[float]:
        """Each text's log-probability, in lm-eval's windows."""
        sums = [0.0] * len(requests)
        for subject, numbers, languages in self._groups(requests):
            texts = [subject.encode(requests[number].args[0]) for number in numbers]
            with _progress(disable_tqdm) as tell:
                nats = token_nats(subject, texts, Policy(back=True), languages=languages, tell=tell)
            for number, own in zip(numbers, nats, strict=True):
                sums[number] = -float(own.sum())
        return sums

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
        """What is written behind each context, up to the first of the words that end it."""
        utilities = importlib.import_module("lm_eval.models.utils")
        texts = [""] * len(requests)
        for subject, numbers, languages in self._groups(requests):
            ways: dict[str, list[int]] = {}
            for place, number in enumerate(numbers):
                ways.setdefault(repr(requests[number].args[1]), []).append(place)
            for places in ways.values():
                some = [requests[numbers[place]] for place in places]
                options = utilities.normalize_gen_kwargs(some[0].args[1])
                most, until = options["max_gen_toks"], tuple(filter(None, options["until"]))
                if until not in self._stops:  # tokens at which a text can be ended at once
                    self._stops[until] = begins_with(subject, until) if until else []
                written = write(
                    subject,
                    [self._begun(request, most) for request in some],
                    most=most,
                    languages=[languages[place] for place in places] if languages else None,
                    sampling=_sampling(options),
                    stop=[self.eot_token_id, *self._stops[until]],
                )
                for place, tokens in zip(places, written, strict=True):
                    texts[numbers[place]] = utilities.postprocess_generated_text(
                        self.tok_decode(tokens.tolist()), list(until), None
                    )
        return texts

    def _encode_pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        """Both in tokens, parted as the tasks here are: the white space between goes on."""
        length = len(self.tok_encode(context.rstrip()))
        whole = self.tok_encode(context + continuation)
        return (whole[:length], whole[length:]) if length else ([self.prefix_token_id], whole)

    def _loglikelihood_tokens(
        self,
        requests: Sequence[tuple[tuple[str, str], list[int], list[int]]],
        disable_tqdm: bool = False,
        **kwargs: Any,
    ) -> list[tuple[float, bool]]:
        pairs = [(context, continuation) for _, context, continuation in requests]
        return self._answers(pairs, [None] * len(pairs), disable_tqdm)

    def _answers(
        self,
        pairs: Sequence[tuple[list[int], list[int]]],
        requests: Sequence[Any],
        disable_tqdm: bool,
    ) -> list[tuple[float, bool]]:
        """The answers to pairs in tokens. requests: theirs, None where it is not known."""
        answers = [(0.0, False)] * len(pairs)
        families: dict[tuple[int, ...], int] = {}
        for subject, numbers, languages in self._groups(requests):
            rows = []
            for place, number in enumerate(numbers):
                context, continuation = pairs[number]
                tokens = np.array([*context, *continuation], dtype=np.int64)
                family = families.setdefault(tuple(context), len(families))
                language = languages[place] if languages else None
                row = Row(tokens, len(context), language, family)
                rows.append(self._fitting(row, requests[number]))
            with _progress(disable_tqdm) as tell:
                scored = score_rows(subject, rows, tell=tell)
            greedy = likeliest(subject, rows, scored)
            for number, own, whether in zip(numbers, scored, greedy, strict=True):
                answers[number] = (-float(own.nats.sum()), whether)
        return answers

    def _fitting(self, row: Row, request: Any) -> Row:
        """A row that can be scored whole, or is cut if so it was wanted."""
        if row.start >= len(row.tokens):
            raise UserError("a continuation of no tokens", where=_place(request))
        if not too_long(self.subject, row):
            return row
        surplus = len(row.tokens) - 1 - (self.subject.ensemble.context or 0)
        if self.long == "stop":
            raise self._too_long(request, len(row.tokens) - 1)
        if surplus >= row.start:
            hint = "leave it out"
            raise UserError("the continuation alone is too long", where=_place(request), hint=hint)
        return Row(row.tokens[surplus:], row.start - surplus, row.language, -1 - row.family)

    def _begun(self, request: Any, most: int) -> np.ndarray:
        """What a request begins with, in tokens, with room for `most` behind it."""
        tokens = self.tok_encode(request.args[0]) or [self.prefix_token_id]
        context, whole = self.subject.ensemble.context, len(tokens) - 1 + most
        if context is not None and whole > context:
            if self.long == "stop" or most >= context:
                raise self._too_long(request, whole, f", {most} of them to be written")
            tokens = tokens[whole - context :]
        return np.array(tokens, dtype=np.int64)

    def _too_long(self, request: Any, count: int, which: str = "") -> UserError:
        sees = f"`{self.subject.name}` sees {self.subject.ensemble.context}"
        fewer = "write fewer by `--gen_kwargs max_gen_toks=`" if which else "fewer demonstrations"
        hint = f"{fewer}, or `long=cut`, which cuts beginnings, as lm-eval does of its own accord"
        return UserError(f"{count} tokens{which}; {sees}", where=_place(request), hint=hint)

    def _groups(
        self, requests: Sequence[Any]
    ) -> Iterator[tuple[Model, list[int], list[str] | None]]:
        """Requests that are answered in one way: the way, their numbers, and their languages."""
        known = self.subject.ensemble.lineage.languages
        languages = [
            language_of(request.task_name or "", request.doc, known) if request else None
            for request in requests
        ]
        by_language = {number: language for number, language in enumerate(languages) if language}
        rest = [number for number in range(len(requests)) if number not in by_language]
        named = list(by_language.values())
        for way, numbers, own in (("language", list(by_language), named), ("text", rest, None)):
            subject = self.subject
            if self._free:
                subject = replace(subject, routing=parse_routing(way))
            if numbers:
                yield subject, numbers, own


def as_lm_eval(name: str, workspace: str | Path = ".", **options: Any) -> Any:
    """What lm-eval takes as `model`; see `LmEvalModel`."""
    return LmEvalModel(name, workspace, **options)


def language_of(task: str, doc: Any, known: Mapping[str, Any]) -> str | None:
    """Which of the known languages a task's document or name tells, its name from behind."""
    tags = {standardize_tag(tag, macro=True): tag for tag in known if tag_is_valid(tag)}
    words = [doc.get("language"), doc.get("lang")] if isinstance(doc, Mapping) else []
    parts = re.split(r"[_\-]", task)
    for place in reversed(range(len(parts))):
        words += ["-".join(parts[place : place + 2]), parts[place]]
    valid = (word for word in words if isinstance(word, str) and tag_is_valid(word))
    found = (tags.get(standardize_tag(word, macro=True)) for word in valid)
    return next(filter(None, found), None)


def main() -> None:
    """lm-eval's command line, in which `--model tongues` is known."""
    importlib.import_module("lm_eval.models")  # registers its own
    registry = importlib.import_module("lm_eval.api.registry").model_registry
    registry.register("tongues", target="tongues.evaluate.lm_eval:LmEvalModel")
    try:
        importlib.import_module("lm_eval.__main__").cli_evaluate()
    except UserError as error:
        sys.exit(f"error: {error}")


@contextmanager
def _progress(disabled: bool) -> Iterator[Any]:
    tqdm = importlib.import_module("tqdm").tqdm
    with tqdm(bar_format="{desc}", disable=disabled, leave=False) as bar:
        yield bar.set_description_str


def _sampling(options: Mapping[str, Any]) -> Sampling:
    ignored = {key for key in options.keys() - _KNOWN if options[key] not in (None, 1, 1.0, False)}
    if ignored:
        _LOG.warning("generation options that are ignored: %s", ", ".join(sorted(ignored)))
    if not options["do_sample"]:
        return Sampling(temperature=0)
    temperature, top_k = options.get("temperature", 1.0), options.get("top_k") or None
    return Sampling(temperature, top_k, options.get("top_p"))


def _place(request: Any) -> str:
    return f"{request.task_name}, document {request.doc_id}" if request else "lm-eval"


if __name__ == "__main__":
    main()
