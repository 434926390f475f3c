"""The page: a fixed table of files, read once; no path of a request reaches the disk."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response

__all__ = ["Page", "load_pages"]

_FOLDER = Path(__file__).with_name("page")
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


@dataclass(frozen=True, slots=True)
class Page:
    """A file that anybody may read."""

    content: bytes
    kind: str
    tag: str

    def answer(self, headers: Headers) -> Response:
        """The file, or that it is still the same."""
        told = {
            "etag": self.tag,
            "cache-control": "no-cache",
            "content-security-policy": _POLICY,
            "referrer-policy": "no-referrer",
        }
        if headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=told)
        return Response(self.content, headers=told, media_type=self.kind)


def load_pages() -> dict[str, Page]:
    """The page's files by their addresses."""
    found = {}
    for file in sorted(_FOLDER.iterdir()):
        if file.suffix in _KINDS:
            content = file.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
            found[f"/{file.name}"] = Page(content, _KINDS[file.suffix], tag)
    if "/index.html" in found:
        found["/"] = found.pop("/index.html")
    return found
