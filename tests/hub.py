"""Small servers of tests' own, and one that answers as the Hugging Face hub does with models."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
_API = re.compile(r"/api/models/([^/]+/[^/]+)(?:/(revision|tree)/([^/]+))?$")
_FILE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)$")


@dataclass
class FakeHub:
    """Models by id, each a folder; who may read them; what breaks."""

    models: dict[str, Path]
    gated: set[str] = field(default_factory=set)  # readable with the token `hf_allowed`
    cuts: dict[str, int] = field(default_factory=dict)  # connections that break amid a file
    sent: dict[str, int] = field(default_factory=dict)  # bytes by file
    failing: set[str] = field(default_factory=set)  # files that the server cannot read
    ranges: list[str] = field(default_factory=list)  # asked for, of files that broke
    address: str = ""

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Answer a GET or HEAD."""
        path = unquote(urlsplit(request.path).path)
        if api := _API.match(path):
            self._api(request, *api.groups())
        elif file := _FILE.match(path):
            self._file(request, *file.groups())
        else:
            _refuse(request, 404, "RepoNotFound")

    def _api(self, request: BaseHTTPRequestHandler, name: str, kind: str, revision: str) -> None:
        if name not in self.models:
            return _refuse(request, 401, "RepoNotFound")  # as the hub does without a token
        if revision not in (None, "main", "v1", COMMIT):
            return _refuse(request, 404, "RevisionNotFound")
        folder, answer = self.models[name], list[dict[str, Any]]()
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            path, mark, size = str(file.relative_to(folder)), _hash(file), file.stat().st_size
            said = {"type": "file", "path": path, "rfilename": path}
            answer.append(said | {"size": size, "oid": mark, "blobId": mark})
        about: dict[str, Any] = {"id": name, "modelId": name, "sha": COMMIT, "private": False}
        about |= {"gated": "manual" if name in self.gated else False, "siblings": answer}
        about |= {"cardData": {"license": "apache-2.0"}, "tags": ["license:apache-2.0"]}
        about |= {"safetensors": {"parameters": {"BF16": 1234}, "total": 1234}}
        content = json.dumps(answer if kind == "tree" else about).encode()
        send(request, content, {"Content-Type": "application/json"})
        return None

    def _file(self, request: BaseHTTPRequestHandler, name: str, revision: str, path: str) -> None:
        place = self.models.get(name, Path("nowhere")) / path
        if name in self.gated:
            token = request.headers.get("Authorization", "")
            if token != "Bearer hf_allowed":
                return _refuse(request, 403 if token else 401, "GatedRepo")
        if not place.is_file():
            return _refuse(request, 404, "EntryNotFound")
        if path in self.failing and request.command == "GET":
            return _refuse(request, 500, "Broken")
        content, sent = part_of(request, place.read_bytes())
        if path in self.cuts and sent:
            self.ranges.append(request.headers["Range"])
        headers = {"ETag": f'"{_hash(place)}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        cut = request.command == "GET" and self.cuts.get(path, 0) > 0
        self.cuts |= {path: self.cuts[path] - 1} if cut else {}
        written = send(request, content, headers | sent, cut=cut)
        self.sent[path] = self.sent.get(path, 0) + written
        return None


@contextmanager
def serving(hub: FakeHub) -> Iterator[FakeHub]:
    """Serve on a port of this machine."""
    with listening(hub.answer) as hub.address:
        yield hub


@contextmanager
def listening(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """Have GET and HEAD answered so at an address of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def do_HEAD(self) -> None:
            answer(self)

        def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def part_of(request: BaseHTTPRequestHandler, content: bytes) -> tuple[bytes, dict[str, str]]:
    """The part of a file that is asked for, and the header that says which it is."""
    if not (asked := request.headers.get("Range")):
        return content, {}
    first, _, last = asked.removeprefix("bytes=").partition("-")
    part = content[int(first) : int(last) + 1 if last else None]
    span = f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}"
    return part, {"Content-Range": span}


def send(
    request: BaseHTTPRequestHandler,
    content: bytes,
    headers: dict[str, str],
    status: int = 200,
    *,
    cut: bool = False,
    sized: bool = True,
) -> int:
    """Answer, the connection breaking amid the content if it is cut; the bytes written."""
    request.send_response(206 if "Content-Range" in headers else status)
    length = {"Content-Length": str(len(content))} if sized else {}
    for name, value in (headers | length).items():
        request.send_header(name, value)
    request.end_headers()
    if request.command == "HEAD":
        return 0
    return request.wfile.write(content[: len(content) // 2] if cut else content)


def _hash(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()


def _refuse(request: BaseHTTPRequestHandler, status: int, code: str) -> None:
    send(request, b"", {"X-Error-Code": code, "X-Error-Message": code}, status)
