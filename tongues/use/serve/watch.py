"""A page of runs that renews itself, on this machine alone."""

import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

from tongues.core.errors import Stopped, UserError
from tongues.core.extras import require
from tongues.core.files import changed_at, files_named
from tongues.core.pages import blocks as b
from tongues.core.pages import page_as_html
from tongues.report.project import run_blocks, run_tiles

_EVERY = 10  # seconds
_LOGS = ("run.json", "metrics.jsonl", "evals.jsonl", "events.jsonl", "timing.jsonl")
# The page renews itself; its figures have no files to link to.
_STYLE = "<style>.links, footer a { display: none }</style>"
_HEAD = f'<head><meta http-equiv="refresh" content="{_EVERY}">{_STYLE}'
_NONE = "There are no runs yet: `tongues train RECIPE` makes one."
_HOSTS = ("localhost", "127.0.0.1")


class _Pages:
    """The newest page, made again only when a log has changed."""

    def __init__(self, workspace: Path) -> None:
        self._workspace, self._lock = workspace, Lock()
        self._seen: object = None
        self.html = b""

    def renew(self) -> None:
        with self._lock:
            logs = files_named(self._workspace / "runs", *_LOGS)
            seen = int(time.time() / 60), sorted((str(x), changed_at(x)) for x in logs)
            if seen == self._seen:
                return
            blocks = [b.Tiles([*run_tiles(self._workspace)]), *run_blocks(self._workspace)]
            note = f"Read at {time.strftime('%H:%M:%S')}, and again every {_EVERY} seconds."
            lead = [b.Paragraph(note, "quiet"), None if blocks[1:] else _NONE]
            title = f"Runs of {self._workspace.resolve().name}"
            html = page_as_html(b.Page(title, blocks, lead))
            self.html = html.replace("<head>", _HEAD, 1).encode()
            self._seen = seen


def serve_runs(workspace: Path, port: int, ready: Callable[[str], None]) -> None:
    """Answer on the loopback address until it is interrupted; ready: gets the address."""
    require("vl_convert", "watch")
    pages = _Pages(workspace)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.headers.get("host", "").rpartition(":")[0] not in _HOSTS:
                self.send_error(403, "only this machine may ask")
                return
            if self.path != "/":
                self.send_error(404)
                return
            pages.renew()
            body = pages.html
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(body)))
            self.send_header("cache-control", "no-store")
            self.send_header("x-content-type-options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing: the terminal shows the address alone."""

    try:
        server = ThreadingHTTPServer((_HOSTS[1], port), Handler)
    except OSError as error:
        what = f"cannot listen on port {port} ({error.strerror})"
        raise UserError(what, where="--port", hint="`--port 0` takes any that is free") from None
    with server, suppress(KeyboardInterrupt, Stopped):
        ready(f"http://{_HOSTS[1]}:{server.server_address[1]}/")
        server.serve_forever()
