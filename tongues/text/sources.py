"""The sources of a recipe's text: files, data sets of the hub, synthetic languages."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from langcodes import standardize_tag, tag_is_valid

from tongues import recipe
from tongues.core.beside import read_beside
from tongues.core.errors import UserError
from tongues.core.files import file_hash, fingerprint, path_text
from tongues.core.quantities import Amount
from tongues.languages import find_language
from tongues.text import reading, synthetic
from tongues.text.document import CUT
from tongues.text.reading import Item, State
from tongues.text.reading.streams import PACKED

_SAID: dict[str, Any] = read_beside(__file__)
_APART = 10**9  # documents between the first ones of two synthetic languages
_CUT = 250  # files of a run, about
_RUN = 1000  # small files read in one go
_RUN_BYTES = 8_000_000  # of them together, about
_NAME = 40  # characters of a file's name in the name of its source
_LOOKED_AT = 10  # files of a language, for their columns
_PACKED = 4  # bytes of text in one of an archive, about
_PARTS = 800  # of a language's text, at least: the scale of what is held out as a whole


@dataclass(frozen=True, slots=True)
class TextSource:
    """Text of one language that one process reads: files, a data set or a synthetic language.

    paths: of the files: one large file, or several small ones.
    """

    lang: str
    name: str  # of its folder, unique in its language
    title: str  # for people
    settings: recipe.Files | recipe.Hub | recipe.Synthetic
    paths: tuple[Path, ...] = ()
    part: int = 0  # bytes of the parts that long documents are cut into; 0: none is cut

    @property
    def at_most(self) -> Amount | None:
        """The recipe's limit on the source, if there is one."""
        return None if isinstance(self.settings, recipe.Synthetic) else self.settings.limit

    def folder(self, corpus: Path) -> Path:
        """The folder of its parts, faults and counts."""
        return corpus / self.lang / self.name

    def made_from(self) -> dict[str, Any]:
        """Everything that its documents depend on, in JSON."""
        settings = self.settings.model_dump(mode="json", exclude={"paths"})
        if self.paths and self.at_most and self.at_most.unit == "tokens":
            settings["limit"] = None  # all of the files is read, whatever the tokens
        content = [[path_text(path), content_hash(path)] for path in self.paths]
        # The content of a synthetic language depends on the order of languages too.
        order = list(settings["languages"]) if isinstance(self.settings, recipe.Synthetic) else []
        made_from = {"lang": self.lang, "title": self.title, "order": order}
        types = {reading.type_of(path.name) for path in self.paths}
        others = {(x.name, x.version) for x in types if x and x not in reading.FILE_TYPES.built_in}
        made_from |= {"types": sorted(others)} if others else {}
        made_from |= {"part": self.part} if self.part else {}
        return made_from | {"settings": settings, "content": content}


def find_sources(settings: recipe.Text) -> list[TextSource]:
    """Every source of the recipe's text, language by language, in reading order."""
    sources: list[TextSource] = []
    for lang in settings.languages:
        if settings.synthetic and lang in settings.synthetic.languages:
            sources.append(TextSource(lang, "synthetic", f"synthetic {lang}", settings.synthetic))
        if lang in settings.files:
            files = settings.files[lang]
            every = reading.find_files(files.paths, f"text.files.{lang}")
            scale = _bytes_of(every) // _PARTS
            for paths in _runs(every, files):
                more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
                short = path_text(paths[0].name)[:_NAME]
                name = f"{short}-{fingerprint([str(path) for path in paths])}"
                title = f"{path_text(paths[0])}{more}"
                part = _part_size(scale, paths, files)
                sources.append(TextSource(lang, name, title, files, tuple(paths), part))
        if lang in settings.hub:
            hub = settings.hub[lang]
            title = reading.hub_source(hub)
            name = f"{title.replace('/', '-')[:_NAME]}-{fingerprint(title)}"
            sources.append(TextSource(lang, name, title, hub))
    return sources


def files_passed_over(settings: recipe.Text) -> dict[str, dict[str, dict[str, int]]]:
    """Of each language, files and bytes of its folders that are not read, by kind."""
    every = {x: reading.passed_over(y.paths, f"text.files.{x}") for x, y in settings.files.items()}
    return {lang: kinds for lang, kinds in every.items() if kinds}


def content_hash(path: Path) -> str:
    """The hash of a file; of one that cannot be read, `unreadable`: its reader reports it."""
    try:
        return file_hash(path)
    except UserError:
        return "unreadable"


def find_benchmarks(settings: recipe.Text) -> list[Path]:
    """The files whose text must not be trained on."""
    return reading.find_files(settings.benchmarks, "text.benchmarks") if settings.benchmarks else []


def read_source(source: TextSource, start: State | None = None) -> Iterator[Item]:
    """Stream a source's documents and faults, each with the state after it.

    start: a state to resume from. A synthetic language is generated up to its size in bytes of
    UTF-8, at least one document; no two languages have the same documents.
    """
    if isinstance(source.settings, recipe.Synthetic):
        return _generate(source.settings, source.lang, start)
    if isinstance(source.settings, recipe.Hub):
        return reading.read_hub(source.settings, source.lang, start)
    return _read_run(source, source.settings, start or {"file": 0, "inside": None})


def text_bytes(sources: Sequence[TextSource]) -> dict[str, int]:
    """Approximate bytes of text by language, from file sizes and data sets' limits; 0: unknown."""
    sizes = dict.fromkeys((source.lang for source in sources), 0)
    for source in sources:
        if isinstance(source.settings, recipe.Synthetic):
            sizes[source.lang] += source.settings.size
        limit = source.at_most
        if isinstance(source.settings, recipe.Hub) and limit and limit.unit == "bytes":
            sizes[source.lang] += int(limit.number)
        sizes[source.lang] += _bytes_of(source.paths)
    return sizes


def _bytes_of(paths: Sequence[Path]) -> int:
    """Bytes of text in files, about."""
    size = 0
    for path in paths:
        kind = reading.type_of(path.name)
        packed = path.suffix.lower() in PACKED or (kind is not None and kind.is_packed)
        size += reading.size_of(path) * (_PACKED if packed else 1)
    return size


def _part_size(scale: int, paths: Sequence[Path], settings: recipe.Files) -> int:
    """Bytes of the parts of long documents in `paths`: from half of `scale` to all of it.

    A power of two, so that added text seldom changes it; 0 where no document can be so long.
    """
    part = 2 ** min(max(scale.bit_length() - 1, 9), 18)  # 512 bytes to 262 kB
    by_paragraphs = settings.documents == "paragraphs"
    return part if by_paragraphs or _bytes_of(paths) > CUT * part else 0


def _check_columns(files: recipe.Files, paths: Sequence[Path], lang: str) -> None:
    """A UserError where none of the files has a column that the recipe names, or one of text."""
    for part, column in files.columns:
        usual = column == getattr(recipe.Columns(), part)
        if not paths or (usual and part != "text"):  # which may be missing
            continue
        first: tuple[str, ...] | None = None
        for path in paths:  # until one has it
            there = reading.other_columns(path, files, column)
            if there is None:
                break
            first = first or there
        else:
            columns = ", ".join(f"`{name}`" for name in first or ())
            named = _SAID["name_text" if usual else "columns"]
            hint = named.format(columns=columns, lang=lang, paths=", ".join(files.paths))
            where = f"text.files.{lang}.columns.{part}"
            raise UserError(f"no file has a column `{column}`", where=where, hint=hint)


def check_tag(lang: str, where: str) -> None:
    """A UserError, with the tag of a name, where `lang` is not a language tag."""
    if not tag_is_valid(lang):
        hint = "use a BCP-47 tag, such as `de`, `no`, `pt-BR` or `zh-Hant`"
        with suppress(UserError):
            hint = f"did you mean `{find_language(lang).tag}`?"
        raise UserError(f"`{lang}` is not a language tag", where=where, hint=hint)
    own = standardize_tag(lang)
    if own != lang and (len(lang) == 3 or lang.isupper()):  # as `UKR`, `ukr` or `UK`
        raise UserError(f"`{lang}` is the language `{own}`", where=where, hint=f"write `{own}`")


def check_text(settings: recipe.Text) -> list[TextSource]:
    """Check the recipe's text without reading it, and return its sources.

    UserErrors: unknown tags and parents, missing or empty files, patterns that match nothing,
    columns that no file has (named ones, and the text's), by the first rows of some.
    """
    for kind, langs in (("files", settings.files), ("hub", settings.hub)):
        for lang in langs:
            check_tag(lang, f"text.{kind}.{lang}")
    sources = find_sources(settings)
    for lang, files in settings.files.items():
        paths = [path for source in sources if source.lang == lang for path in source.paths]
        _check_columns(files, paths[:_LOOKED_AT], lang)
    find_benchmarks(settings)
    if settings.synthetic:
        try:
            synthetic.check_family(_drifts(settings.synthetic))
        except UserError as error:
            where = f"text.synthetic.languages.{error.where}".rstrip(".")
            raise UserError(error.what, where=where, hint=error.hint) from None
    return sources


def describe_synthetic(settings: recipe.Synthetic) -> list[str]:
    """A sentence for each child language: its similarity to its parent."""
    family = _family(settings)
    return [
        _SAID["drifted"].format(
            tag=tag,
            drift=drift,
            words=synthetic.shared_words(family[parent], family[tag]),
            order=synthetic.shared_order(family[parent], family[tag]),
        )
        for tag, drift in settings.languages.items()
        if (parent := drift.parent)
    ]


def _runs(paths: Sequence[Path], settings: recipe.Files) -> Iterator[list[Path]]:
    run: list[Path] = []
    size = 0
    for path in paths:
        kind = reading.type_of(path.name)
        single = settings.documents == "files" and kind is not None and kind.is_document
        # Cut by a hash too, so that adding a file changes only its own run.
        cut = int(fingerprint(str(path)), 16) % _CUT == 0
        if run and (not single or cut or len(run) == _RUN or size >= _RUN_BYTES):
            yield run
            run, size = [], 0
        if not single:
            yield [path]
            continue
        run.append(path)
        size += reading.size_of(path)
    if run:
        yield run


def _read_run(source: TextSource, settings: recipe.Files, start: State) -> Iterator[Item]:
    inside = start["inside"]
    for number in range(start["file"], len(source.paths)):
        path, part = source.paths[number], source.part or reading.PART
        for item, state in reading.read_file(path, source.lang, settings, inside, part):
            yield item, {"file": number, "inside": state}
        inside = None


def _generate(settings: recipe.Synthetic, lang: str, start: State | None) -> Iterator[Item]:
    state = start or {"documents": 0, "bytes": 0}
    number, size = state["documents"], state["bytes"]
    first = int(lang[1:], base=36) * _APART
    for document in synthetic.documents(_family(settings)[lang], start=first + number):
        size += len(document.text.encode())
        if size > settings.size and number > 0:
            return
        number += 1
        yield document, {"documents": number, "bytes": size}


def _family(settings: recipe.Synthetic) -> dict[str, synthetic.SyntheticLanguage]:
    return _cached_family(settings.seed, tuple(_drifts(settings).items()))


def _drifts(settings: recipe.Synthetic) -> dict[str, synthetic.Drift]:
    return {tag: synthetic.Drift(d.parent, d.divergence) for tag, d in settings.languages.items()}


@lru_cache(maxsize=4)
def _cached_family(
    seed: int, drifts: tuple[tuple[str, synthetic.Drift], ...]
) -> dict[str, synthetic.SyntheticLanguage]:
    return synthetic.make_family(synthetic.World.of(seed), dict(drifts), seed)
