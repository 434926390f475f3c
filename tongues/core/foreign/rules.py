"""A folder's own rules for text, its tokenizer and chat template, as the program of a process.

Run as a module, it answers each line of JSON on standard input by one: a text or the messages of a
conversation, and their token ids. It imports little, to start fast.
"""

import json
import re
import resource
import secrets
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from tokenizers import Tokenizer
from tokenizers.models import BPE

from tongues.core.errors import UserError

Messages = Sequence[Mapping[str, str]]  # each with `role` and `content`

SECONDS = 2.0  # of computing for one text
_OPENING = 6.0  # the same, to open a tokenizer
_LETTERS = 250_000  # of a long text, for each of which a second more is granted
_SHORT = 1000  # letters of a text
_MEMORY = 2**30  # bytes beyond those of the opened tokenizer
_OPENED = 2**32  # bytes of that at most
_STATUS = Path("/proc/self/status")


def has_template(folder: Path) -> bool:
    """Whether a Hugging Face folder says how a conversation is written."""
    if any((folder / f"chat_template.{kind}").is_file() for kind in ("jinja", "json")):
        return True
    return bool(_settings(folder / "tokenizer_config.json").get("chat_template"))


def _settings(file: Path) -> dict[str, Any]:
    settings: Any = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return settings if isinstance(settings, dict) else {}


def _template(folder: Path) -> str | None:
    file = folder / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8")
    for name in ("chat_template.json", "tokenizer_config.json"):
        template: Any = _settings(folder / name).get("chat_template")
        if isinstance(template, list):  # several by name
            named = {one.get("name"): one.get("template") for one in template}
            template = named.get("default")
        if isinstance(template, str):
            return template
    return None


class FolderRules:
    """The tokenizer and the template of a Hugging Face folder, or a tokenizer's file alone."""

    def __init__(self, folder: Path) -> None:
        file = folder / "tokenizer.json" if folder.is_dir() else folder
        folder = file.parent
        if not file.is_file():
            raise UserError("holds no tokenizer.json", where=str(folder))
        self._letters, self._marked = (Tokenizer.from_buffer(file.read_bytes()) for _ in range(2))
        for one in (self._letters, self._marked):  # as `load_tokenizer` has them
            one.no_truncation()
            one.no_padding()
            if isinstance(one.model, BPE):
                one.model.dropout = None
        self._letters.encode_special_tokens = True
        added = self._letters.get_added_tokens_decoder().values()
        self.special = [token.content for token in added if token.special and token.content]
        self._chat = _template(folder)
        if self._chat is not None:
            from transformers.utils.chat_template_utils import render_jinja_template

            self._render: Any = render_jinja_template
        settings = _settings(folder / "special_tokens_map.json")
        settings |= _settings(folder / "tokenizer_config.json")
        self._names: dict[str, str] = {}
        for key, value in settings.items():
            name = value.get("content") if isinstance(value, dict) else value
            if key.endswith("_token") and isinstance(name, str):
                self._names[key] = name

    def encode(self, text: str) -> list[int]:
        """Ids of a text in which all is letters; a short one is also decoded."""
        ids = _ids(self._letters, text)
        if len(text) <= _SHORT:
            self._letters.decode(ids, skip_special_tokens=False)
        return ids

    def read(self, text: str) -> list[int]:
        """Ids of what a template wrote: names of special tokens mean them."""
        return _ids(self._marked, text)

    def write(self, messages: Messages) -> str:
        """The text of a conversation up to the answer."""
        if self._chat is None:
            hint = "ask it by `/v1/completions`"
            raise UserError("the model has no chat template", where="messages", hint=hint)
        rendered = self._render(
            [[dict(one) for one in messages]],
            chat_template=self._chat,
            add_generation_prompt=True,
            **self._names,
        )
        return rendered[0][0]

    def conversation(self, messages: Messages) -> list[int]:
        """See `TextProcess.conversation`."""
        text = self._written(messages)
        contents = [message["content"] for message in messages]
        marks = [f"message{secrets.token_hex(16)}" for _ in messages]
        marked = [{**one, "content": mark} for one, mark in zip(messages, marks, strict=True)]
        frame = self._written(marked)
        # More than the template's own: spelt in a message, or by what the template joins and edits.
        more = (name for name in self.special if text.count(name) > frame.count(name))
        named = (name for name in self.special for one in contents if name in one)
        spelt = next(more, None) or next(named, None)
        if spelt is None:
            return self.read(text)
        parts = _parts(text, frame, contents, marks)
        if parts is None:  # the template's own special tokens must stay the only ones
            what = f"a message spells `{spelt}`, which means something to the model"
            raise UserError(what, where="messages", hint="write it in another way")
        ids = [(self.encode if n % 2 else self.read)(part) for n, part in enumerate(parts)]
        return [token for part in ids for token in part]

    def _written(self, messages: Messages) -> str:
        try:
            return self.write(messages)
        except (UserError, MemoryError):
            raise
        except Exception as error:  # templates raise what they like, and so does their language
            what = f"the model's chat template refuses them ({error})"
            raise UserError(what, where="messages") from None


def _ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False).ids


def _parts(
    text: str, marked: str, contents: Sequence[str], marks: Sequence[str]
) -> list[str] | None:
    """What the template writes around the contents, and each content as it writes it, by turns.

    None where it does more than strip them and put each in its place.
    """
    parts = re.split(f"({'|'.join(marks)})", marked)
    if parts[1::2] != list(marks):
        return None
    place = len(parts[0])
    for number, content in enumerate(contents):
        behind = parts[2 * number + 2]
        kept = content if text.startswith(content + behind, place) else content.strip()
        parts[2 * number + 1] = kept
        place += len(kept) + len(behind)
    return parts if "".join(parts) == text else None


def _serve(folder: Path, seconds: float, texts: BinaryIO, replies: BinaryIO) -> None:
    _limit(_OPENING)
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_OPENED, hard))
    rules: FolderRules | None = None
    fault: dict[str, str] = {}
    try:
        rules = FolderRules(folder)
    except BaseException as error:  # a panic of the tokenizer is no Exception
        fault = _described(error, folder)
    _limit(0)
    replies.write(b"\n")  # opened, or known to be faulty
    replies.flush()
    if _STATUS.is_file():
        used = int(re.findall(r"VmData:\s+(\d+) kB", _STATUS.read_text())[0]) * 1024
        resource.setrlimit(resource.RLIMIT_DATA, (used + _MEMORY, hard))
    for line in texts:
        _limit(seconds + len(line) // _LETTERS)
        reply: dict[str, Any] = {"error": fault}
        try:
            given: Any = json.loads(line)
            if rules is not None:
                text = isinstance(given, str)
                reply = {"ids": rules.encode(given) if text else rules.conversation(given)}
        except BaseException as error:
            reply = {"error": _described(error, folder)}
        _limit(0)
        replies.write(json.dumps(reply).encode() + b"\n")
        replies.flush()


def _limit(seconds: float) -> None:
    """End this process after this much computing, or 2.5 times as long; 0: do not."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 2.5 * seconds)


def _described(error: BaseException, folder: Path) -> dict[str, str]:
    if isinstance(error, UserError):
        return {"what": error.what, "where": error.where, "hint": error.hint}
    what = f"the model's rules for text fail ({type(error).__name__}: {error})"
    return {"what": what[:500], "where": str(folder), "code": "text_failed"}


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), float(sys.argv[2]), sys.stdin.buffer, sys.stdout.buffer)
