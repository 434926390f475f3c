"""From what a request says to what is asked of the engine."""

import secrets
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from tongues.errors import UserError, nearest
from tongues.experts.ensemble.routing import Routing, parse_routing
from tongues.experts.ensemble.sampling import Sampling
from tongues.serve.asks import Ask
from tongues.serve.bodies import Body
from tongues.serve.limits import Limits
from tongues.serve.problems import Problem, of_user
from tongues.serve.served import Prompt, Served

__all__ = ["asks_of", "find_model", "read_text", "room", "stops_of"]


def find_model(models: Mapping[str, Served], name: str) -> Served:
    """The served model of that name."""
    if name not in models:
        plain, at, way = name.rpartition("@")
        hint = nearest(name[:200], models)
        if at and plain in models:
            hint = f"ask `{plain}` with `routing`: `{way[:100]}`"
        message = f"the model `{name[:200]}` is not served here; {hint}"
        raise Problem(404, message, code="model_not_found", param="model")
    return models[name]


def read_text(served: Served, text: str, param: str) -> Prompt:
    """A prompt of text; a Problem where it is too long to be read at all."""
    if served.context is not None:
        size, most = len(text.encode()), served.context * served.longest_piece
        if size > most:
            message = f"{size:,} bytes are no {served.context} tokens, which `{served.name}` sees"
            raise Problem(400, message, code="context_length_exceeded", param=param)
    return served.read(text)


def stops_of(body: Body) -> tuple[str, ...]:
    """The strings that end a text."""
    said = body.stop or ()
    return (said,) if isinstance(said, str) else tuple(dict.fromkeys(said))


def room(served: Served, prompt: Prompt, most: int, param: str) -> int:
    """Tokens that may be written behind a prompt, of `most`; a Problem where there is none."""
    if served.context is None:
        return most
    left = served.context - prompt.size
    if left < 1:
        message = (
            f"{prompt.size} tokens leave no room to write; `{served.name}` sees {served.context}"
        )
        raise Problem(400, message, code="context_length_exceeded", param=param)
    return min(most, left)


def asks_of(
    body: Body,
    served: Served,
    prompts: Sequence[Prompt],
    most: Sequence[int],
    limits: Limits,
    *,
    param: str,
    alternatives: int = 0,
    scored: bool = False,
) -> list[Ask]:
    """What is asked of the engine: `n` texts for each prompt, prompt by prompt.

    most: tokens to write behind each prompt. param: the field that the prompts came in.
    """
    for prompt, tokens in zip(prompts, most, strict=True):
        _check_tokens(served, prompt.tokens, param)
        size = prompt.size + tokens
        if served.context is not None and size > served.context:
            message = (
                f"{prompt.size} tokens and {tokens} to write are {size}; "
                f"`{served.name}` sees {served.context}"
            )
            raise Problem(400, message, code="context_length_exceeded", param=param)
    copies = body.n or 1
    if copies * len(prompts) > limits.texts:
        message = f"{copies * len(prompts)} texts in one request; {limits.texts} at most"
        raise Problem(400, message, code="too_many_texts", param="n")
    sampling, routing = _sampling(body, served), _routing(body, served)
    met, asks = Counter[bytes](), []
    for prompt, tokens in zip(prompts, most, strict=True):
        text = prompt.tokens.tobytes()
        for _ in range(copies):
            asks.append(
                Ask(
                    model=served.name,
                    tokens=prompt.tokens,
                    most=tokens,
                    sampling=sampling,
                    routing=routing,
                    language=body.language,
                    alternatives=alternatives,
                    scored=scored,
                    explained=bool(body.weights),
                    begun=prompt.begun,
                    copy=met[text],
                )
            )
            met[text] += 1
    return asks


def _check_tokens(served: Served, tokens: np.ndarray, param: str) -> None:
    known = served.vocabulary
    if len(tokens) and tokens.max() >= known:
        message = f"`{served.name}` knows token ids up to {known - 1}, not {tokens.max()}"
        raise Problem(400, message, code="invalid_value", param=param)


def _sampling(body: Body, served: Served) -> Sampling:
    bias = {int(token): value for token, value in (body.logit_bias or {}).items() if value}
    if bias:
        _check_tokens(served, np.array(list(bias)), "logit_bias")
    return Sampling(
        temperature=1.0 if body.temperature is None else body.temperature,
        top_k=1 if body.top_p == 0 else body.top_k,
        top_p=body.top_p or None,
        seed=secrets.randbits(63) if body.seed is None else body.seed,
        presence=body.presence_penalty or 0.0,
        frequency=body.frequency_penalty or 0.0,
        bias=bias,
    )


def _routing(body: Body, served: Served) -> Routing | None:
    """As it is said; where only a language is, by that."""
    if body.routing is None:
        return parse_routing("language") if body.language and len(served.experts) > 1 else None
    try:
        return parse_routing(body.routing)
    except UserError as error:
        raise of_user(error, "routing") from None
