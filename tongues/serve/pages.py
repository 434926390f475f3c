"""The page: a fixed table of files, read once; no path of a request reaches the disk."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response

__all__ = ["PageFile", "load_pages"]

_FOLDER = Path(__file__).with_name("page")
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file that anybody may read."""

    content: bytes
    kind: str

    def answer(self, headers: Headers) -> Response:
        """The file, or that it is still the same."""
        tag = f'"{hashlib.sha256(self.content).hexdigest()[:16]}"'
        if headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"etag": tag, **_HEADERS})
        return Response(self.content, headers={"etag": tag, **_HEADERS}, media_type=self.kind)


def load_pages() -> dict[str, PageFile]:
    """The page's files by their addresses."""
    files = [file for file in sorted(_FOLDER.iterdir()) if file.suffix in _KINDS]
    pages = {f"/{file.name}": PageFile(file.read_bytes(), _KINDS[file.suffix]) for file in files}
    return {("/" if path == "/index.html" else path): page for path, page in pages.items()}
