"""What a request may say: OpenAI's fields as far as they can be honoured, and a few of our own.

A field that would change the answer and is not honoured is refused by its name; values that change
nothing, such as `min_p` 0, are passed over (`nothing.toml`).
"""

import re
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError, from_json

from tongues.core.beside import read_beside
from tongues.core.errors import nearest
from tongues.use.serve.refusal import Limits, Refusal


def _whole(value: Any) -> Any:
    if isinstance(value, list) and float in set(map(type, value)):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


Count = Annotated[int, Field(ge=1), BeforeValidator(_whole)]
TopLogprobs = Annotated[int, Field(ge=0, le=20), BeforeValidator(_whole)]
Token = Annotated[int, Field(ge=0, lt=2**31)]
Texts = Annotated[list[str], Field(min_length=1, fail_fast=True)]
Tokens = Annotated[list[Token], Field(min_length=1, fail_fast=True), BeforeValidator(_whole)]
TokenList = Annotated[list[Token], Field(fail_fast=True), BeforeValidator(_whole)]
TokenLists = Annotated[list[TokenList], Field(min_length=1, fail_fast=True)]
Stop = Annotated[str, Field(min_length=1, max_length=200)]
Stops = Annotated[list[Stop], Field(max_length=16, fail_fast=True)]
TokenName = Annotated[str, Field(pattern="^(0|[1-9][0-9]{0,9})$")]
Bias = Annotated[float, Field(ge=-100, le=100)]
Biases = Annotated[dict[TokenName, Bias], Field(max_length=1024, fail_fast=True)]
Ignored = Annotated[str, Field(max_length=1000)]
Nothing = Annotated[list[Any], Field(max_length=0)] | None
T = TypeVar("T", bound="ModelBody")

_MEANT = {
    "prompt": "is a text, a list of texts, a list of token ids, or a list of such lists",
    "stop": "is a text, or a list of at most 16 texts, none of them empty or over 200 characters",
    "content": "is a text, or a list of parts such as {'type': 'text', 'text': …}",
}
_TABLE = read_beside(__file__, "nothing.toml")
NOTHING: dict[str, list[Any]] = _TABLE["nothing"]  # values that change nothing, by field
IGNORED = frozenset[str](_TABLE["ignored"]["names"])
_KIND = re.compile(
    r"^((list|dict|literal|nullable|function-\w+)\[.*\]|constrained-\w+|str|\[key\])$"
)


class Object(BaseModel):
    """An object of JSON: nothing unknown, nothing converted."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
    )


class StreamOptions(Object):
    """Options of a stream."""

    include_usage: bool | None = None
    """A last chunk with the number of tokens."""
    include_obfuscation: bool | None = None
    """Chunks are never padded here."""


class ModelBody(Object):
    """What every request may say."""

    model: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    """The name of a served model; may be left out where one is served."""


class TokensBody(ModelBody):
    """A request to /tokenize."""

    prompt: str
    """The text whose token ids are returned."""


class Body(ModelBody):
    """What both kinds of requests for texts may say."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """0 takes the most probable token; default: 1."""
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    """Nucleus sampling: the smallest set of tokens with this probability."""
    top_k: Count | None = None
    """Sample from this number of most probable tokens."""
    n: Count | None = None
    """Texts behind each prompt; 1 if left out."""
    stream: bool | None = None
    """Send the text while it is generated, as server-sent events."""
    stream_options: StreamOptions | None = None
    stop: Stop | Stops | None = None
    """Strings that end a text; they are not part of it."""
    logit_bias: Biases | None = None
    """Added to the log-probability of these token ids."""
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63), BeforeValidator(_whole)] | None = None
    """The same seed generates the same text; random if left out."""
    routing: Annotated[str, Field(max_length=100)] | None = None
    """Of an ensemble: which experts write, such as `filter:2` or `tfidf:2`."""
    language: Annotated[str, Field(max_length=100)] | None = None
    """Of the text, for the routing `language`."""
    weights: bool | None = None
    """Return the weight of each expert for each token."""


class CompletionBody(Body):
    """A request to /v1/completions."""

    prompt: str | Texts | Tokens | TokenLists | None = None
    """A text, several, or their token ids; left out, a text is written from its beginning."""
    max_tokens: Annotated[int, Field(ge=0), BeforeValidator(_whole)] | None = None
    """Tokens to write, at most, and never more than the server allows; 16 if left out."""
    echo: bool | None = None
    """Return the prompt before the generated text."""
    logprobs: TopLogprobs | None = None
    """Return each token's log-probability, and this number of most probable alternatives."""


class TextPart(Object):
    """A part of a message."""

    type: Literal["text"]
    text: str


class Message(Object):
    """A message of a conversation."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | Annotated[list[TextPart], Field(min_length=1, fail_fast=True)] | None
    """Null where an answer was empty."""
    type: Literal["message"] | None = None
    name: Ignored | None = None
    refusal: None = None
    audio: None = None
    function_call: None = None
    tool_calls: Nothing = None
    annotations: Nothing = None

    @field_validator("content")
    @classmethod
    def _content(cls, content: Any, info: ValidationInfo) -> Any:
        if content is None and info.data.get("role") != "assistant":
            raise PydanticCustomError("content_type", "should be given")
        return content


class ChatBody(Body):
    """A request to /v1/chat/completions."""

    messages: Annotated[list[Message], Field(min_length=1, max_length=1024, fail_fast=True)]
    """The conversation so far."""
    max_completion_tokens: Count | None = None
    """Tokens to generate, at most; default and maximum: what the server allows."""
    max_tokens: Count | None = None
    """The same, by its older name."""
    logprobs: bool | None = None
    """Return each token's log-probability."""
    top_logprobs: TopLogprobs | None = None
    """Number of most probable alternatives to return for each token."""


def parse(kind: type[T], content: bytes, limits: Limits) -> T:
    """Read a body; raises a Refusal that names the first mistake."""
    try:
        plain = from_json(content, allow_inf_nan=False)
    except ValueError as error:
        raise Refusal(400, f"the body is not JSON: {error}", code="invalid_json") from None
    if not isinstance(plain, dict):
        raise Refusal(400, "the body is not a JSON object", code="invalid_type")
    for name in plain.keys() & (IGNORED | NOTHING.keys()):
        if name in IGNORED or _is_nothing(name, plain[name]):
            del plain[name]
    prompts = plain.get("prompt")
    prompts = prompts if isinstance(prompts, list) else []
    if len(prompts) > limits.texts and not isinstance(prompts[0], int | float):
        message = f"{len(prompts)} prompts in one request; {limits.texts} at most"
        raise Refusal(400, message, code="array_above_max_length", param="prompt")
    try:
        return kind.model_validate(plain)
    except ValidationError as error:
        raise _explain(error, kind) from None


def _is_nothing(name: str, value: Any) -> bool:
    """Whether a field changes nothing by this value; 1 is not true, and 0 is not false."""
    kind = isinstance(value, bool)
    return value is None or any(
        value == one and isinstance(one, bool) == kind for one in NOTHING[name]
    )


def _explain(error: ValidationError, kind: type[ModelBody]) -> Refusal:
    errors = error.errors(include_url=False, include_input=False)
    unknown = (
        one for one in errors if one["type"] == "extra_forbidden" and "content" not in one["loc"]
    )
    first = next(unknown, errors[0])
    field = ""  # as OpenAI names it: `messages[0].content`
    for step in first["loc"]:
        if isinstance(step, int):
            field += f"[{step}]"
        elif not _KIND.match(step):
            field += f".{step}" if field else step
    names = re.sub(r"\[\d+\]", "", field).split(".")
    code = "invalid_type" if first["type"].endswith("_type") else "invalid_value"
    if first["type"] == "missing":
        message, code = f"`{field}` is missing", "missing_required_parameter"
    elif first["type"] == "extra_forbidden":
        inner = {"messages": Message, "stream_options": StreamOptions}
        fields = (kind if len(names) == 1 else inner.get(names[0], kind)).model_fields
        hint = "leave it out" if field in NOTHING else nearest(names[-1][:100], fields)
        field = field[:100]
        message, code = f"`{field}` is not supported here; {hint}", "unknown_parameter"
    else:
        known = next((_MEANT[name] for name in reversed(names) if name in _MEANT), None)
        plain = first["msg"].replace(" after validation", "")
        reason = known or re.sub(r"^(Input|\w+) should", "should", plain)
        message = f"`{field}` {reason}"
    return Refusal(400, message, code=code, param=field)
