"""Text in object stores and on servers: fsspec's memory, and a server on this machine."""

import gzip
import json
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import fsspec
import pyarrow
import pyarrow.parquet
import pytest

from tests.golden import cases, golden
from tests.hub import listening, part_of, send
from tests.text.corpora import contents, quiet, recipe_of, text, text_of
from tongues.errors import UserError
from tongues.files import read_json
from tongues.recipe import Files
from tongues.text import Document, find_sources
from tongues.text.gather import gather
from tongues.text.reading import (
    Item,
    Place,
    Remote,
    find_files,
    find_places,
    passed_over,
    read_file,
)
from tongues.text.sources import content_hash, text_bytes
from tongues.tokens import prepare_tokens

LONG = 3_000_000  # bytes, more than is asked for at a time


@dataclass
class Server:
    """Files by path."""

    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True  # whether parts of files are sent
    sized: bool = True
    cuts: int = 0  # connections that break amid a file
    status: int = 0  # of every answer, if not 0
    asked: list[str] = field(default_factory=list)
    address: str = ""

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path
        below = [name for name in self.files if name.startswith(path) and path.endswith("/")]
        if self.status == 302 and "?" not in path:
            send(request, b"", {"Location": f"{path}?signature=secret"}, 302)
            return
        if self.status or not (below or path in self.files):
            request.send_error(500 if self.status == 302 else self.status or 404)
            return
        data = b"".join(b'<a href="%s">x</a>' % name.encode() for name in below)
        data = self.files.get(path, data)
        said = {"Content-Type": "text/html" if below else "text/plain"}
        said |= {"ETag": f'"{hash(data)}"'} if path in self.files else {}
        data, part = part_of(request, data) if self.ranges else (data, {})
        cut = request.command == "GET" and self.cuts > 0 and path in self.files
        if request.command == "GET":
            self.asked.append(f"{path} {request.headers.get('Range', '')}")
        self.cuts -= cut
        send(request, data, said | part, cut=cut, sized=self.sized)


@pytest.fixture
def server() -> Iterator[Server]:
    pytest.importorskip("aiohttp", reason="needs the package aiohttp")
    server = Server()
    with listening(server.answer) as server.address:
        yield server


@pytest.fixture
def store() -> Iterator[Path]:
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]
    yield memory
    memory.store.clear()


@cache
def rows(count: int, start: int = 0) -> bytes:
    every = ({"text": f"Satz {n} {text(n, 200)}"} for n in range(start, start + count))
    return "".join(json.dumps(row) + "\n" for row in every).encode()


def items(place: Place, state: dict[str, object] | None = None) -> list[Item]:
    return list(read_file(place, "de", Files(paths=["x"]), state))


def texts(place: Place) -> list[str]:
    return [item.text for item, _ in items(place) if isinstance(item, Document)]


def test_files_folders_and_globs_of_a_store(store: fsspec.AbstractFileSystem) -> None:
    for name in ("b.txt", "a.jsonl", "deep/c.txt", "README.md", ".d.txt", "e.png", "deep/.f/g.txt"):
        store.pipe(f"/de/{name}", b"eins")
    for pattern in ("memory://de", "memory://de/**"):
        found = find_places([pattern], "text.files.de")
        assert [str(place).rpartition("de/")[2] for place in found] == [
            "a.jsonl",
            "b.txt",
            "deep/c.txt",
        ]
        aside = passed_over([pattern], "text.files.de")
        assert {kind: row["files"] for kind, row in aside.items()} == {
            "hidden": 2,
            "README": 1,
            ".png": 1,
        }
    two = find_places(["memory://de/*.txt", "memory://de/b.txt"], "text.files.de")
    assert [place.name for place in two] == ["b.txt"]
    assert [place.name for place in find_places(["memory://de/README.md"], "x")] == ["README.md"]


@pytest.mark.parametrize("url", cases("refused-addresses"))
def test_what_is_out_of_reach_is_told(store: fsspec.AbstractFileSystem, url: str) -> None:
    store.pipe("/de/e.png", b"eins")
    with pytest.raises(UserError) as error:
        find_places([url], "text.files.de")
    golden(f"refused-addresses/{url}", str(error.value))


def test_only_text_files_may_be_urls() -> None:
    with pytest.raises(UserError, match=r"URLs are for `text\.files`"):
        find_files(["s3://bucket/a.txt"], "text.benchmarks")


@pytest.mark.parametrize(("ranges", "sized"), [(True, True), (True, False), (False, False)])
def test_lines_stream_and_resume(server: Server, tmp_path: Path, ranges: bool, sized: bool) -> None:
    data, server.ranges, server.sized = rows(6_000), ranges, sized
    assert len(data) > 2 * LONG
    server.files = {"/de.jsonl": data, "/de.jsonl.gz": gzip.compress(data)}
    (tmp_path / "de.jsonl").write_bytes(data)
    whole = [item.text for item, _ in items(tmp_path / "de.jsonl") if isinstance(item, Document)]
    for name in server.files:
        (place,) = find_places([f"{server.address}{name}"], "x")
        assert texts(place) == whole
        found = items(place)
        state = json.loads(json.dumps(found[5_000][1]))
        rest = [item for item, _ in items(place, state)]
        assert [x.text for x in rest if isinstance(x, Document)] == whole[5_001:]


@pytest.mark.parametrize("ranges", [True, False])
def test_broken_connections_are_opened_again(
    server: Server, monkeypatch: pytest.MonkeyPatch, ranges: bool
) -> None:
    monkeypatch.setattr("tongues.text.reading.remote._WAITS", (0.01, 0.02, 0.03))
    data, server.ranges = rows(6_000), ranges
    server.files = {"/de.jsonl": data}
    (place,) = find_places([f"{server.address}/de.jsonl"], "x")
    whole, said = texts(place), list[str]()
    server.cuts = 2
    source = find_sources(text_of({"de": str(place)}))[0].telling(said.append)
    assert texts(source.paths[0]) == whole
    assert len(said) >= 1 and "again in 0.01 s" in said[0] and f"{place}" in said[0]
    server.cuts = 100
    with pytest.raises(UserError, match="cannot be read"):
        texts(place)


def test_parquet_is_read_in_parts(server: Server, tmp_path: Path) -> None:
    table = pyarrow.table({"text": [f"Satz {n}" for n in range(1000)]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    server.files = {"/a.parquet": (tmp_path / "a.parquet").read_bytes()}
    (place,) = find_places([f"{server.address}/a.parquet"], "x")
    assert texts(place) == texts(tmp_path / "a.parquet") == [f"Satz {n}" for n in range(1000)]


def test_a_change_is_noticed(server: Server, store: fsspec.AbstractFileSystem) -> None:
    server.files = {"/de/a.txt": b"eins", "/de/b.txt": b"zwei"}
    store.pipe("/de/a.txt", b"eins")
    url = f"{server.address}/de/"
    before = {str(place): content_hash(place) for place in find_places([url, "memory://de"], "x")}
    assert len(before) == 3 and [x.rpartition("/")[2] for x in before] == [
        "a.txt",
        "b.txt",
        "a.txt",
    ]
    (place, *_) = find_places([url], "x")
    assert isinstance(place, Remote) and place.size == 4
    server.files["/de/a.txt"] = b"drei"
    store.pipe("/de/a.txt", b"drei")
    after = {str(place): content_hash(place) for place in find_places([url, "memory://de"], "x")}
    same = [url for url in before if before[url] == after[url]]
    assert same == [f"{server.address}/de/b.txt"]
    with pytest.raises(UserError, match="was changed while it was read"):
        items(pickle.loads(pickle.dumps(place)))


@pytest.mark.parametrize(("status", "says"), [(403, "credentials"), (404, "there is no file")])
def test_refusals_are_told_at_once(server: Server, status: int, says: str) -> None:
    server.files = {"/de.txt": b"eins"}
    (place,) = find_places([f"{server.address}/de.txt"], "x")
    server.status = status
    for work in (lambda: items(place), lambda: find_places([str(place)], "text.files.de")):
        with pytest.raises(UserError, match=says):
            work()


def test_where_a_server_redirects_to_stays_secret(server: Server) -> None:
    server.files, server.status = {"/de.txt": b"eins"}, 302
    with pytest.raises(UserError, match=r"cannot be read \(500") as error:
        find_places([f"{server.address}/de.txt"], "x")
    assert "?…" in str(error.value) and "secret" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://me:secret@host/a.txt",
        "s3://KEY:secret@bucket/a.txt",
        "https://host/a.txt?sig=secret",
    ],
)
def test_credentials_in_a_url_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="would be written into records") as error:
        text_of({"de": url})
    assert "secret" not in str(error.value).partition("[type=")[0]


def test_prepared_tokens_are_those_of_the_same_files_here(server: Server, tmp_path: Path) -> None:
    data = rows(400)
    server.files = {"/de.jsonl.gz": gzip.compress(data)}
    (tmp_path / "de.jsonl.gz").write_bytes(server.files["/de.jsonl.gz"])
    places = {"here": str(tmp_path / "de.jsonl.gz"), "there": f"{server.address}/de.jsonl.gz"}
    made = {}
    for name, url in places.items():
        folder = prepare_tokens(recipe_of(text_of({"de": url})), tmp_path / name, quiet)
        made[name] = {k: v for k, v in contents(folder).items() if not k.endswith("tokens.json")}
        manifest = read_json(folder / "tokens.json")
        assert list(manifest["inputs"]["files"]["de"]) == [url]
    assert made["here"] == made["there"]
    said: list[str] = []
    prepare_tokens(recipe_of(text_of({"de": places["there"]})), tmp_path / "there", said.append)
    assert "nothing to do" in said[0]
    server.files["/de.jsonl.gz"] = gzip.compress(rows(400, start=9))
    with pytest.raises(UserError, match="made from other text"):
        prepare_tokens(recipe_of(text_of({"de": places["there"]})), tmp_path / "there", quiet)


def test_an_interrupted_source_goes_on(server: Server, tmp_path: Path) -> None:
    server.files = {"/de.jsonl": rows(100)}
    sources = find_sources(text_of({"de": f"{server.address}/de.jsonl"}))
    assert text_bytes(sources) == {"de": len(server.files["/de.jsonl"])}
    server.status = 403
    with pytest.raises(UserError):
        gather(sources, quiet, text_of({"de": f"{server.address}/de.jsonl"}), tmp_path)
    server.status = 0
    gather(sources, quiet, text_of({"de": f"{server.address}/de.jsonl"}), tmp_path)
    record = read_json(sources[0].folder(tmp_path) / "source.json")
    assert record["complete"] and record["documents"] == 100 and not record["faults"]
