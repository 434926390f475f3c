"""Documents by language: the held-out half of prepared tokens, or anybody's files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from langcodes import tag_is_valid

from tongues.errors import UserError, nearest
from tongues.experts.ensemble.lineage import Lineage
from tongues.experts.heldout import scored_documents, unseen_documents
from tongues.files import path_text
from tongues.recipe import Files
from tongues.text import Document
from tongues.text.reading import Fault, find_files, read_file
from tongues.tokens import Tokens, load_tokenizer, open_tokens

__all__ = ["held_out_documents", "read_texts"]

_ALL = 2**62  # tokens


def read_texts(
    said: str,
    workspace: Path,
    *,
    languages: Sequence[str] | None = None,
    most: int | None = None,
    lineages: Iterable[Lineage] = (),
    fault: Callable[[Fault], None] = lambda one: None,
) -> dict[str, list[Document]]:
    """The documents of each language that a user names.

    said: the name of prepared tokens, of whose held-out documents it is the half that nothing was
    tuned on; or a file or folder of `<tag>.jsonl`, `<tag>.txt` or `<tag>.parquet`, packed or not.
    A row has `text` and may have `id` and `group`, which translations of one text share; in `.txt`
    a block between blank lines is a document. languages: those wanted; None: all. most: documents
    of a language. lineages: of prepared tokens only documents count that no expert of theirs was
    trained on. fault: is told what is no document.
    """
    if (workspace / "tokens" / said / "tokens.json").is_file():
        tokens = open_tokens(workspace / "tokens" / said)
        wanted = _wanted(said, tokens.languages, languages)
        unseen = unseen_documents(tokens, lineages, workspace)
        for lang in wanted:
            if not unseen[lang].any():
                what = f"`{lang}`: experts were trained on all text that is held out now"
                hint = "leave the language out, or name files"
                raise UserError(what, where=str(tokens.path), hint=hint)
        return held_out_documents(tokens, unseen, wanted, most=most)
    files = _files(said, workspace)
    found: dict[str, list[Document]] = {}
    for lang in _wanted(said, tuple(files), languages):
        faults: list[Fault] = []
        found[lang] = _read(files[lang], lang, most, faults.append)
        if not found[lang]:
            first = f"{faults[0].reason}: {faults[0].sample}" if faults else "it is empty"
            raise UserError(f"holds no document of `{lang}`", where=said, hint=first)
        for one in faults:
            fault(one)
    return found


def held_out_documents(
    prepared: Tokens,
    unseen: Mapping[str, np.ndarray],
    languages: Sequence[str] | None = None,
    *,
    tokens: int = _ALL,
    most: int | None = None,
) -> dict[str, list[Document]]:
    """The first half of what a preparation held out, as text.

    unseen: which documents (bool) of a language count; where none does, all do. tokens: of a
    language, in whole documents, at least ten. most: documents of a language.
    """
    tokenizer = load_tokenizer(prepared.tokenizer_path)
    found = {}
    for lang in languages or prepared.languages:
        shard, groups = prepared.shard(lang, "valid"), prepared.groups_of(lang)
        numbers = scored_documents(shard.bounds, tokens, unseen[lang])[:most].tolist()
        ids = [shard.tokens[shard.bounds[n] : shard.bounds[n + 1] - 1].tolist() for n in numbers]
        texts = tokenizer.decode_batch(ids, skip_special_tokens=False)
        place = path_text(prepared.path)
        found[lang] = [
            Document(f"{prepared.path.name}/{lang}/{number}", lang, text, groups[number], place)
            for number, text in zip(numbers, texts, strict=True)
            if text
        ]
    return found


def _files(said: str, workspace: Path) -> dict[str, list[Path]]:
    """The files of each language; in a folder those that are not named for one are passed over."""
    place = Path(said)
    if not place.exists():
        names = [file.parent.name for file in (workspace / "tokens").glob("*/tokens.json")]
        what = f"there are no prepared tokens, no file and no folder `{said}`"
        raise UserError(what, where=str(workspace), hint=nearest(said, names))
    found: dict[str, list[Path]] = {}
    for path in find_files([said], where=said):
        lang = path.name.partition(".")[0]
        if tag_is_valid(lang):
            found.setdefault(lang, []).append(path)
    if not found:
        hint = "name files for their languages, such as `de.jsonl`"
        raise UserError("no file is named for a language", where=said, hint=hint)
    return found


def _read(
    paths: Sequence[Path], lang: str, most: int | None, fault: Callable[[Fault], None]
) -> list[Document]:
    """The first documents of files."""
    found: list[Document] = []
    settings = Files(paths=[str(path) for path in paths], documents="paragraphs")
    for path in paths:
        for item, _ in read_file(path, lang, settings):
            if most is not None and len(found) >= most:
                return found
            if isinstance(item, Fault):
                fault(item)
            elif ".txt" in path.suffixes:  # its groups are stretches of the file
                found.append(replace(item, group=item.id))
            else:
                found.append(item)
    return found


def _wanted(said: str, there: Sequence[str], asked: Sequence[str] | None) -> Sequence[str]:
    """The languages asked for, all if none is; a UserError where one is not there."""
    for lang in asked or ():
        if lang not in there:
            raise UserError(f"there is no text of `{lang}`", where=said, hint=nearest(lang, there))
    return asked or there
