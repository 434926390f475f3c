"""A folder's own rules for text, its tokenizer and chat template, in a process with limits.

Whoever made a folder wrote both: a template can loop for ever, and so can a regular expression on
the wrong text. Here that ends one process of one model; requests to other models never wait for it.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np

from tongues.core.errors import UserError
from tongues.core.foreign import rules
from tongues.core.foreign.rules import SECONDS, Messages, has_template

# What has brought regular expressions to a standstill: long runs of one kind, then another.
_PROBES = ("a" * 60 + "!", " " * 200 + "a", "0" * 60 + "x", "\n" * 60 + " ", "aB1 " * 40, "é한🙂")


class TextProcess:
    """The process of one folder; started when it is first needed, and again after it was ended.

    Its calls block, for seconds at most. seconds: of computing for one text. pool: the thread in
    which a server makes them.
    """

    def __init__(self, folder: Path, seconds: float = SECONDS) -> None:
        self.folder, self.seconds = folder, seconds
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="text")
        self._process: subprocess.Popen[bytes] | None = None
        self._opened = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin to open the tokenizer, without waiting."""
        self._opened = False
        command = [sys.executable, "-P", "-m", rules.__name__]
        command += [str(self.folder.resolve()), str(self.seconds)]
        path = os.pathsep.join(place or os.getcwd() for place in sys.path)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path, "TOKENIZERS_PARALLELISM": "false"},
            start_new_session=True,  # Ctrl+C is the server's
        )

    def close(self) -> int:
        """End the process; how it ended, as `subprocess` has it."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # a text for a process that ended before
                if pipe:
                    pipe.close()
        try:
            return process.wait(0.5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def encode(self, text: str) -> np.ndarray:
        """The token ids of a text; names of special tokens are text as any."""
        return self._ask(text)

    def conversation(self, messages: Messages) -> np.ndarray:
        """The token ids of a conversation up to the answer.

        What a message spells is letters always. A UserError where there is no template, where it
        refuses the messages, or where it changes a message that spells a special token.
        """
        return self._ask(list(messages))

    def probe(self, *, chat: bool = True) -> None:
        """A UserError where the rules cannot be used on ordinary or on repetitive text.

        chat: whether the template is tried too.
        """
        if not any(len(self.encode(text)) for text in _PROBES):
            raise UserError("the model's tokenizer has no tokens for text", where=str(self.folder))
        if chat and has_template(self.folder):
            try:
                self.conversation([{"role": "user", "content": "a"}])
            except UserError as error:
                if error.code:  # a refusal of these messages is the template's right
                    raise

    def _ask(self, given: str | list[Mapping[str, str]]) -> np.ndarray:
        with self._lock:
            if self._opened and self._process and self._process.poll() is not None:
                self.close()  # it ended between texts, as for want of memory: no text is to blame
            if self._process is None:
                self.start()
            assert self._process
            texts, replies = self._process.stdin, self._process.stdout
            assert texts
            assert replies
            try:
                texts.write(json.dumps(given).encode() + b"\n")
                texts.flush()
                self._opened = self._opened or replies.readline() == b"\n"
                line = replies.readline()
            except OSError:
                line = b""
            if not line.endswith(b"\n"):
                raise self._ended(self.close(), given)
        reply = json.loads(line)
        if "error" in reply:
            raise UserError(**reply["error"])
        return np.array(reply["ids"], dtype=np.int64)

    def _ended(self, status: int, given: str | list[Mapping[str, str]]) -> UserError:
        where, late = str(self.folder), status in (-signal.SIGPROF, -signal.SIGALRM)
        if not self._opened:
            why = "it takes too long" if late else f"the process that tried ended with {status}"
            hint = "it is damaged or made to do harm; take the model from another place"
            return UserError(f"cannot be opened: {why}", where=where, hint=hint, code="text_failed")
        rules = "tokenizer" if isinstance(given, str) else "chat template or tokenizer"
        why = f"computes longer than {self.seconds:g} seconds on this text"
        if not late:
            why = f"fails on this text (its process ended with {status})"
        hint = "the text may be too long or repetitive, or the model's folder faulty"
        return UserError(f"the model's {rules} {why}", where=where, hint=hint, code="text_failed")
