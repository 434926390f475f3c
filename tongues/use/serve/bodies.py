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
from tongues.use.serve.refusal import MEANT, Limits, Refusal


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
T = TypeVar("T", bound="ModelBody")

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
        raise Refusal("invalid_json", why=error) from None
    if not isinstance(plain, dict):
        raise Refusal("no_object")
    _drop_nothing(plain)
    _drop_nothing(plain.get("stream_options"))
    for message in _listed(plain.get("messages")):
        _drop_nothing(message)
    prompts = _listed(plain.get("prompt"))
    if len(prompts) > limits.texts and not isinstance(prompts[0], int | float):
        raise Refusal("array_above_max_length", count=len(prompts), most=limits.texts)
    try:
        return kind.model_validate(plain)
    except ValidationError as error:
        raise _explain(error, kind) from None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _drop_nothing(fields: Any) -> None:
    """Drop the fields of an object that change nothing; 1 is not true, and 0 is not false."""
    for name in (IGNORED | NOTHING.keys()) & set(fields if isinstance(fields, dict) else ()):
        value, values = fields[name], NOTHING.get(name, ())
        same = any(x == value and isinstance(x, bool) == isinstance(value, bool) for x in values)
        if name in IGNORED or value is None or same:
            del fields[name]


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
        known = next((MEANT[name] for name in reversed(names) if name in MEANT), None)
        plain = first["msg"].replace(" after validation", "")
        reason = known or re.sub(r"^(Input|\w+) should", "should", plain)
        message = f"`{field}` {reason}"
    return Refusal("wrong", field, code, message=message)
