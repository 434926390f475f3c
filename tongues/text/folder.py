"""The text of a language in a folder of several languages, and whether it is of that language."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tongues.errors import UserError
from tongues.recipe import Text
from tongues.text.document import Document
from tongues.text.reading import read_file
from tongues.text.signals.close import same_language
from tongues.text.signals.language import load_identifier
from tongues.text.sources import check_text, text_bytes

__all__ = ["check_language", "find_texts"]

_SAMPLE = 200_000  # characters that are identified
_OWN = 0.5  # share of the sample that must be in the language


def find_texts(folder: Path, languages: Sequence[str]) -> dict[str, list[str]]:
    """Paths by language: a folder or file named by its tag, or such files in folders of sources.

    A folder in which nothing is named by a tag is text of the first language.
    """
    if not folder.is_dir():
        hint = f"name a folder with text of `{languages[0]}`, such as `{languages[0]}/` in it"
        raise UserError("is not a folder", where=f"--text {folder}", hint=hint)
    found = dict[str, list[str]]()
    for lang in languages:
        named = sorted(x for x in folder.glob(f"{lang}*") if x.name.split(".")[0] == lang)
        if paths := named or sorted(folder.glob(f"*/{lang}.*")):
            found[lang] = [str(path) for path in paths]
    return found or {languages[0]: [str(folder)]}


def check_language(texts: Mapping[str, Sequence[str]], where: str) -> dict[str, int]:
    """Bytes of text by language, about; a UserError where a sample is of another language."""
    settings = Text.model_validate({"files": {lang: list(paths) for lang, paths in texts.items()}})
    sources, identifier = check_text(settings), load_identifier(None)
    for lang in filter(identifier.knows, texts):
        paths = [path for one in sources if one.lang == lang for path in one.paths]
        most, sample = _SAMPLE // len(paths), ""
        for path in paths:
            begun = len(sample)
            for item, _ in read_file(path, lang, settings.files[lang]):
                sample += f"{item.text[:most]}\n" if isinstance(item, Document) else ""
                if len(sample) - begun >= most:
                    break
        (seen,) = identifier.identify([sample])
        own = sum(share for label, share in seen.shares.items() if same_language(label, lang))
        if own < _OWN:
            what = f"{own:.0%} of the text of `{lang}` ({paths[0].name}) was identified as such"
            what += f", most as `{seen.label}`" if seen.shares else "; no text could be read"
            hint = "is the tag right? Name the folder or file of each language by its tag"
            raise UserError(what, where=where, hint=hint)
    return text_bytes(sources)
