"""Texts and conversations continued: from OpenAI's bodies to requests, and the answers' JSON."""

import json
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tongues.core.errors import UserError, nearest
from tongues.core.foreign.process import TextProcess
from tongues.experts.ensemble.model import Model, Prompt
from tongues.experts.ensemble.request import Sampling, TextPiece, Token
from tongues.experts.ensemble.routing import parse_routing
from tongues.use.serve.bodies import Body, ChatBody, CompletionBody, TokensBody
from tongues.use.serve.refusal import Limits, Refusal, of_user
from tongues.use.serve.streaming import AnswerForm, Completion

_USUAL = 16  # tokens to write, as at OpenAI


def find_served(models: Mapping[str, Model], name: str | None) -> Model:
    """The served model of that name; None: the only one."""
    if name is None and len(models) > 1:
        raise Refusal("missing_model", hint=nearest("", models))
    name = next(iter(models)) if name is None else name
    if name not in models:
        plain, at, way = name.rpartition("@")
        hint = nearest(name[:200], models)
        if at and plain in models:
            hint = f"ask `{plain}` with `routing`: `{way[:100]}`"
        raise Refusal("model_not_found", name=name[:200], hint=hint)
    return models[name]


def complete(body: CompletionBody, model: Model, rules: TextProcess, limits: Limits) -> AnswerForm:
    """The answer to be generated for `/v1/completions`; a Refusal where it cannot be."""
    given = body.prompt
    listed = given if isinstance(given, list) and not isinstance(given[0], int) else [given]
    prompts = []
    for each in listed:
        if isinstance(each, list):
            prompts.append(model.prompt(np.array(each, dtype=np.int64)))
            continue
        text = str(each or "")
        size, most = len(text.encode()), (model.context or 0) * model.longest_token
        if model.context is not None and size > most:  # it cannot be read at all
            raise Refusal("too_long", size=size, name=model.name, context=model.context)
        try:
            prompts.append(model.read(text, rules.encode))
        except UserError as error:
            raise of_user(error, "prompt") from None
    return _CompletionForm(
        body,
        _completions(
            body,
            model,
            prompts,
            limits,
            body.max_tokens,
            usual=_USUAL,
            param="prompt",
            alternatives=body.logprobs or 0,
            echo=bool(body.echo),
            score_prompt=bool(body.echo and (body.logprobs is not None or body.weights)),
        ),
    )


def tokenize(body: TokensBody, model: Model, rules: TextProcess, _: Limits) -> bytes:
    """The ids of a text as `prompt` of `/v1/completions` takes them, in vLLM's form."""
    try:
        ids = rules.encode(body.prompt).tolist()
    except UserError as error:
        raise of_user(error, "prompt") from None
    return json.dumps({"count": len(ids), "max_model_len": model.context, "tokens": ids}).encode()


def converse(body: ChatBody, model: Model, rules: TextProcess, limits: Limits) -> AnswerForm:
    """The answer to be generated for `/v1/chat/completions`; a Refusal where it cannot be."""
    if body.top_logprobs and not body.logprobs:
        raise Refusal("no_logprobs")
    messages = []
    for message in body.messages:
        role = "system" if message.role == "developer" else message.role
        content = message.content or ""
        text = content if isinstance(content, str) else "".join(part.text for part in content)
        messages.append({"role": role, "content": text})
    try:
        prompt = conversation_prompt(model, rules.conversation(messages))
    except UserError as error:
        raise of_user(error, "messages") from None
    counts = {body.max_completion_tokens, body.max_tokens} - {None}
    if len(counts) == 2:
        raise Refusal("twice")
    texts = _completions(
        body,
        model,
        [prompt],
        limits,
        next(iter(counts), None),
        usual=limits.tokens,
        param="messages",
        alternatives=body.top_logprobs or 0,
    )
    return _ChatForm(body, texts)


class _CompletionForm(AnswerForm):
    prefix, object_type, chunk_type = "cmpl", "text_completion", "text_completion"
    body: CompletionBody

    def choice(self, part: TextPiece, *, streamed: bool, first: bool) -> dict[str, Any]:
        log_probs = None if self.body.logprobs is None else self._log_probs(part.tokens)
        return {"text": part.text, "logprobs": log_probs}

    def _log_probs(self, tokens: Sequence[Token]) -> dict[str, Any]:
        model = self.texts[0].model
        names = [_token_name(model, token.id) for token in tokens]
        own = [self.log_prob(token.log_prob) for token in tokens]
        tops: list[dict[str, float | None] | None] = []  # the most probable tokens at each place
        for token, value in zip(tokens, own, strict=True):
            top: dict[str, float | None] = {}
            for other, log_prob in (*token.alternatives, (token.id, token.log_prob)):
                top.setdefault(_token_name(model, other), self.log_prob(log_prob))
            tops.append(None if value is None else top)
        own_columns = {"tokens": names, "token_logprobs": own, "top_logprobs": tops}
        return own_columns | {"text_offset": [token.offset for token in tokens]}


class _ChatForm(AnswerForm):
    prefix = "chatcmpl"
    object_type, chunk_type = "chat.completion", "chat.completion.chunk"
    body: ChatBody

    def choice(self, part: TextPiece, *, streamed: bool, first: bool) -> dict[str, Any]:
        message, log_probs = {"role": "assistant", "content": part.text}, None
        if self.body.logprobs:
            content = [
                {
                    **self._token(token.id, token.log_prob),
                    "top_logprobs": [self._token(*other) for other in token.alternatives],
                }
                for token in part.tokens
            ]
            log_probs = {"content": content, "refusal": None}
        if not streamed:
            return {"message": {**message, "refusal": None}, "logprobs": log_probs}
        return {"delta": message if first else {"content": part.text}, "logprobs": log_probs}

    def _token(self, token: int, value: float) -> dict[str, Any]:
        model = self.texts[0].model
        return {
            "token": _token_name(model, token),
            "logprob": self.log_prob(value),
            "bytes": list(model.bytes_of(token)),
        }


def _completions(
    body: Body,
    model: Model,
    prompts: Sequence[Prompt],
    limits: Limits,
    most: int | None,
    *,
    usual: int,
    param: str,
    alternatives: int,
    echo: bool = False,
    score_prompt: bool = False,
) -> list[Completion]:
    """The texts to generate: `n` for each prompt, prompt by prompt.

    most: tokens behind a prompt, cut to what the context leaves; None: the `usual`. param: the
    field that the prompts came in.
    """
    counts = []
    for prompt in prompts:
        _check_tokens(model, prompt.tokens, param)
        left = limits.tokens if model.context is None else model.context - prompt.size
        if left < (most != 0):
            about = {"name": model.name, "context": model.context}
            raise Refusal("no_room", param, count=prompt.size, **about)
        count = min(usual if most is None else most, limits.tokens, left)
        counts.append(count)
    if (wanted := (body.n or 1) * len(prompts)) > limits.texts:
        raise Refusal("too_many_texts", count=wanted, most=limits.texts)
    bias = {int(token): value for token, value in (body.logit_bias or {}).items() if value}
    _check_tokens(model, np.array(list(bias)), "logit_bias")
    sampling = Sampling(
        temperature=1.0 if body.temperature is None else body.temperature,
        top_k=1 if body.top_p == 0 else body.top_k,
        top_p=body.top_p or None,
        seed=secrets.randbits(63) if body.seed is None else body.seed,
        bias=bias,
    )
    usual_way = "language" if body.language and len(model.experts) > 1 else None
    try:  # None: the model's own routing
        way = body.routing if body.routing is not None else usual_way
        routing = None if way is None else parse_routing(way)
    except UserError as error:
        raise of_user(error, "routing") from None
    stops = [body.stop] if isinstance(body.stop, str) else list(dict.fromkeys(body.stop or ()))
    met, texts = Counter[bytes](), []
    for prompt, count in zip(prompts, counts, strict=True):
        same = prompt.tokens.tobytes()
        for _ in range(body.n or 1):
            request = model.request(
                prompt,
                count,
                routing,
                sampling=sampling,
                language=body.language,
                alternatives=alternatives,
                score_prompt=score_prompt,
                find_language=bool(body.weights),
                copy=met[same],
            )
            texts.append(Completion(model, request, prompt, stops, echo=echo))
            met[same] += 1
    return texts


def _check_tokens(model: Model, tokens: np.ndarray, param: str) -> None:
    known = len(model.token_bytes)
    if len(tokens) and tokens.max() >= known:
        raise Refusal("unknown_token", param, name=model.name, most=known - 1, token=tokens.max())


def _token_name(model: Model, token: int) -> str:
    data = model.bytes_of(token)
    try:
        return data.decode("utf-8") or model.token_name(token)
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)


def conversation_prompt(model: Model, tokens: np.ndarray) -> Prompt:
    """A prompt of the tokens that a template wrote, which may begin with the text's first token."""
    return Prompt(tokens, begun=len(tokens) > 0 and int(tokens[0]) in model.special)
