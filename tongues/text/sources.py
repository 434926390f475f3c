"""The text of a language, wherever the recipe takes it from, in pieces that are read apart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from langcodes import tag_is_valid

from tongues import recipe
from tongues.errors import UserError
from tongues.files import file_hash, fingerprint, path_text
from tongues.quantities import Amount
from tongues.text.reading import Item, State, find_files, read_file, read_hub
from tongues.text.synthetic import (
    Drift,
    Language,
    World,
    documents,
    make_family,
    shared_order,
    shared_words,
)

__all__ = ["Piece", "check_text", "content_hash", "describe_made", "find_benchmarks"]
__all__ += ["find_pieces", "open_piece", "text_bytes"]

_APART = 10**9  # documents between the first ones of two synthetic languages
_CUT = 250  # files of a run, about
_RUN = 1000  # small files read in one go
_RUN_BYTES = 8_000_000  # of them together, about
_NAME = 40  # characters of a file's name in that of its piece
_PACKED = 4  # bytes of text in one of an archive, about


@dataclass(frozen=True, slots=True)
class Piece:
    """What one process reads from beginning to end: files, a synthetic language, a data set.

    `settings` says how; `paths` are the files: one, or a run of small ones.
    """

    lang: str
    name: str  # of its folder; tells pieces of one language apart
    source: str  # what the user calls it
    settings: recipe.Files | recipe.Hub | recipe.Synthetic
    paths: tuple[Path, ...] = ()

    @property
    def at_most(self) -> Amount | None:
        """The most that the recipe wants of the source, if it says so."""
        return None if isinstance(self.settings, recipe.Synthetic) else self.settings.limit

    def folder(self, corpus: Path) -> Path:
        """Where its parts, faults and counts lie."""
        return corpus / self.lang / self.name

    def made_from(self) -> dict[str, Any]:
        """All that its documents depend on, in JSON."""
        settings = self.settings.model_dump(mode="json", exclude={"paths"})
        if self.paths and self.at_most and self.at_most.unit == "tokens":
            settings["limit"] = None  # all of the files is read, whatever the tokens
        content = [[path_text(path), content_hash(path)] for path in self.paths]
        # The order of synthetic languages too decides what one of them tells.
        order = list(settings["languages"]) if isinstance(self.settings, recipe.Synthetic) else []
        made_from = {"lang": self.lang, "source": self.source, "order": order}
        return made_from | {"settings": settings, "content": content}


def find_pieces(settings: recipe.Text) -> list[Piece]:
    """Every piece of the recipe's text, language by language, in reading order."""
    pieces: list[Piece] = []
    for lang in settings.languages:
        if settings.synthetic and lang in settings.synthetic.languages:
            pieces.append(Piece(lang, "made", f"made {lang}", settings.synthetic))
        if lang in settings.files:
            files = settings.files[lang]
            for paths in _runs(find_files(files.paths, f"text.files.{lang}"), files):
                more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
                short = path_text(paths[0].name)[:_NAME]
                name = f"{short}-{fingerprint([str(path) for path in paths])}"
                source = f"{path_text(paths[0])}{more}"
                pieces.append(Piece(lang, name, source, files, tuple(paths)))
        if lang in settings.hub:
            hub = settings.hub[lang]
            source = "/".join(filter(None, (hub.dataset, hub.subset, hub.split)))
            name = f"{source.replace('/', '-')[:_NAME]}-{fingerprint(source)}"
            pieces.append(Piece(lang, name, source, hub))
    return pieces


def content_hash(path: Path) -> str:
    """The hash of a file, also of one that cannot be read: its reader says so and goes on."""
    try:
        return file_hash(path)
    except UserError:
        return "unreadable"


def find_benchmarks(settings: recipe.Text) -> list[Path]:
    """The files whose text must not be trained on."""
    return find_files(settings.benchmarks, "text.benchmarks") if settings.benchmarks else []


def open_piece(piece: Piece, start: State | None = None) -> Iterator[Item]:
    """Stream a piece's documents, and what could not be read, each with the state behind it.

    With such a state it goes on from there. A synthetic language is generated up to its size in
    bytes of UTF-8, at least one document; each language tells other documents of the world.
    """
    if isinstance(piece.settings, recipe.Synthetic):
        return _generate(piece.settings, piece.lang, start)
    if isinstance(piece.settings, recipe.Hub):
        return read_hub(piece.settings, piece.lang, start)
    return _read_run(piece, piece.settings, start or {"file": 0, "inside": None})


def text_bytes(pieces: Sequence[Piece]) -> dict[str, int]:
    """About how many bytes of text each language has, without reading it; 0 where unknown."""
    sizes = dict.fromkeys((piece.lang for piece in pieces), 0)
    for piece in pieces:
        if isinstance(piece.settings, recipe.Synthetic):
            sizes[piece.lang] += piece.settings.size
        for path in piece.paths:
            packed = path.suffix in (".gz", ".zst", ".parquet")
            sizes[piece.lang] += path.stat().st_size * (_PACKED if packed else 1)
    return sizes


def check_text(settings: recipe.Text) -> list[Piece]:
    """Raise the UserErrors that can be found without reading the text; returns its pieces.

    Unknown tags and parents, missing or empty files, patterns that match nothing.
    """
    for kind, langs in (("files", settings.files), ("hub", settings.hub)):
        for lang in langs:
            if not tag_is_valid(lang):
                hint = "use a BCP-47 tag, such as `de`, `no`, `pt-BR` or `zh-Hant`"
                where = f"text.{kind}.{lang}"
                raise UserError(f"`{lang}` is no language tag", where=where, hint=hint)
    pieces = find_pieces(settings)
    find_benchmarks(settings)
    if settings.synthetic:
        try:
            _family(settings.synthetic)
        except UserError as error:
            where = f"text.synthetic.languages.{error.where}".rstrip(".")
            raise UserError(error.what, where=where, hint=error.hint) from None
    return pieces


def describe_made(settings: recipe.Synthetic) -> list[str]:
    """A sentence for each child language: how near it is to its parent."""
    family = _family(settings)
    return [
        f"`{tag}` drifted from `{drift.parent}` by {drift.divergence:g}: it shares "
        f"{shared_words(family[drift.parent], family[tag]):.0%} of the running words and "
        f"{shared_order(family[drift.parent], family[tag]):.0%} of the choices of word order."
        for tag, drift in settings.languages.items()
        if drift.parent
    ]


def _runs(paths: Sequence[Path], settings: recipe.Files) -> Iterator[list[Path]]:
    run: list[Path] = []
    size = 0
    for path in paths:
        single = settings.documents == "files" and ".txt" in path.suffixes[-2:]
        # Cut by a hash too, so that a file more or less changes only its own run.
        cut = int(fingerprint(str(path)), 16) % _CUT == 0
        if run and (not single or cut or len(run) == _RUN or size >= _RUN_BYTES):
            yield run
            run, size = [], 0
        if not single:
            yield [path]
            continue
        run.append(path)
        size += path.stat().st_size
    if run:
        yield run


def _read_run(piece: Piece, settings: recipe.Files, start: State) -> Iterator[Item]:
    inside = start["inside"]
    for number in range(start["file"], len(piece.paths)):
        for item, state in read_file(piece.paths[number], piece.lang, settings, inside):
            yield item, {"file": number, "inside": state}
        inside = None


def _generate(settings: recipe.Synthetic, lang: str, start: State | None) -> Iterator[Item]:
    state = start or {"documents": 0, "bytes": 0}
    number, size = state["documents"], state["bytes"]
    first = int(lang[1:], base=36) * _APART
    for document in documents(_family(settings)[lang], start=first + number):
        size += len(document.text.encode())
        if size > settings.size and number > 0:
            return
        number += 1
        yield document, {"documents": number, "bytes": size}


def _family(settings: recipe.Synthetic) -> dict[str, Language]:
    drifts = tuple((tag, Drift(d.parent, d.divergence)) for tag, d in settings.languages.items())
    return _cached_family(settings.seed, drifts)


@lru_cache(maxsize=4)
def _cached_family(seed: int, drifts: tuple[tuple[str, Drift], ...]) -> dict[str, Language]:
    return make_family(World.of(seed), dict(drifts), seed)
