"""The text of a language in a folder of several languages, and whether it is of that language."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tongues.core.beside import read_beside
from tongues.core.errors import UserError
from tongues.recipe import Hub, Text
from tongues.text.document import Document
from tongues.text.reading import read_file
from tongues.text.signals.close import same_language
from tongues.text.signals.language import load_identifier
from tongues.text.sources import TextSource, check_text, read_source, text_bytes

_SOURCES = 8  # of a language that are sampled
_SAMPLE = 200_000  # characters that are identified
_COUNTED = 20_000_000  # bytes of text up to which all of it is read, to count what is in it
_OWN = 0.5  # share of the sample that must be in the language
_SAID: dict[str, Any] = read_beside(__file__)


@dataclass(frozen=True, slots=True)
class LanguageText:
    """The text of a language: bytes of what its documents hold, and the beginnings of some."""

    bytes: int
    sample: tuple[str, ...]


def find_texts(folder: Path, languages: Sequence[str]) -> dict[str, list[str]]:
    """Paths by language: a folder or file named by its tag, and such files in folders of sources.

    A folder in which nothing is named by a tag is text of the first language.
    """
    if not folder.is_dir():
        hint = f"name a folder with text of `{languages[0]}`, such as `{languages[0]}/` in it"
        raise UserError("is not a folder", where=f"--text {folder}", hint=hint)
    found = dict[str, list[str]]()
    for lang in languages:
        named = sorted(x for x in folder.glob(f"{lang}*") if x.name.split(".")[0] == lang)
        more = sorted(x for x in folder.glob(f"*/{lang}.*") if x.parent not in named)
        if paths := [str(path) for path in (*named, *more)]:
            found[lang] = paths
    return found or {languages[0]: [str(folder)]}


def check_language(texts: Mapping[str, Sequence[str]], where: str) -> dict[str, LanguageText]:
    """Text by language; a UserError where a sample is of another language.

    Its bytes are what the documents hold, as preparing reads them; of large text about that, by
    its files.
    """
    settings = Text.model_validate({"files": {lang: list(paths) for lang, paths in texts.items()}})
    sources, identifier = check_text(settings), load_identifier(None)
    sizes, found = text_bytes(sources), dict[str, LanguageText]()
    for lang in texts:
        paths = [path for one in sources if one.lang == lang for path in one.paths]
        most, whole, size, sample = _SAMPLE // len(paths), sizes[lang] <= _COUNTED, 0, list[str]()
        for path in paths:
            left = most
            for item, _ in read_file(path, lang, settings.files[lang]):
                if isinstance(item, Document):
                    sample += [item.text[:left]] if left else []
                    left -= len(item.text[:left])
                    size += len(item.text.encode()) if whole else 0
                if not (left or whole):
                    break
        found[lang] = LanguageText(size or sizes[lang], tuple(sample))
        if not identifier.knows(lang):
            continue
        (seen,) = identifier.identify(["\n".join(sample)])
        own = sum(share for label, share in seen.shares.items() if same_language(label, lang))
        if own < _OWN:
            named = {"own": own, "lang": lang, "file": paths[0].name, "label": seen.label}
            what = _SAID["not_own" if seen.shares else "no_text"].format(**named)
            hint = "is the tag right? Name the folder or file of each language by its tag"
            raise UserError(what, where=where, hint=hint)
    return found


def sample_texts(sources: Sequence[TextSource], characters: int) -> dict[str, list[str]]:
    """Beginnings of documents by language, as many characters of each; text elsewhere has none."""
    samples = dict[str, list[str]]()
    for lang in dict.fromkeys(source.lang for source in sources):
        own = (source for source in sources if source.lang == lang)
        here = [source for source in own if not isinstance(source.settings, Hub)]
        chosen = here[:: -(-len(here) // _SOURCES) or 1]
        samples[lang] = [
            text for one in chosen for text in _beginnings(one, characters // len(chosen))
        ]
    return samples


def _beginnings(source: TextSource, characters: int) -> Iterator[str]:
    for item, _ in read_source(source):
        if isinstance(item, Document):
            yield item.text[:characters]
            characters -= len(item.text)
        if characters <= 0:
            return
