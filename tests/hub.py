"""A small server that answers as the Hugging Face hub does where models are fetched."""

import hashlib
import json
import re
from collections.abc import Iterator
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
        files = sorted(file for file in self.models[name].rglob("*") if file.is_file())
        names = [str(file.relative_to(self.models[name])) for file in files]
        if kind == "tree":
            rows = [
                {"type": "file", "path": path, "size": file.stat().st_size, "oid": _hash(file)}
                for path, file in zip(names, files, strict=True)
            ]
            return _send(request, rows)
        about: dict[str, Any] = {"id": name, "modelId": name, "sha": COMMIT, "private": False}
        about |= {"gated": "manual" if name in self.gated else False}
        about |= {"cardData": {"license": "apache-2.0"}, "tags": ["license:apache-2.0"]}
        about |= {"safetensors": {"parameters": {"BF16": 1234}, "total": 1234}}
        about["siblings"] = [
            {"rfilename": path, "size": file.stat().st_size, "blobId": _hash(file)}
            for path, file in zip(names, files, strict=True)
        ]
        return _send(request, about)

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
        content, start, status = place.read_bytes(), 0, 200
        whole = len(content)
        if asked := request.headers.get("Range"):
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, status = int(first), 206
            content = content[start : int(last) + 1 if last else None]
            if path in self.cuts:
                self.ranges.append(asked)
        request.send_response(status)
        request.send_header("ETag", f'"{_hash(place)}"')
        request.send_header("X-Repo-Commit", COMMIT)
        request.send_header("Accept-Ranges", "bytes")
        request.send_header("Content-Length", str(len(content)))
        if status == 206:
            last = start + len(content) - 1
            request.send_header("Content-Range", f"bytes {start}-{last}/{whole}")
        request.end_headers()
        if request.command == "HEAD":
            return None
        if self.cuts.get(path, 0) > 0:
            self.cuts[path] -= 1
            content = content[: len(content) // 2]
            request.close_connection = True
        request.wfile.write(content)
        self.sent[path] = self.sent.get(path, 0) + len(content)
        return None


@contextmanager
def serving(hub: FakeHub) -> Iterator[FakeHub]:
    """Serve on a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            hub.answer(self)

        def do_HEAD(self) -> None:
            hub.answer(self)

        def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    hub.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


def _hash(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()


def _send(request: BaseHTTPRequestHandler, thing: Any) -> None:
    content = json.dumps(thing).encode()
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(content)


def _refuse(request: BaseHTTPRequestHandler, status: int, code: str) -> None:
    request.send_response(status)
    request.send_header("X-Error-Code", code)
    request.send_header("X-Error-Message", code)
    request.send_header("Content-Length", "0")
    request.end_headers()
