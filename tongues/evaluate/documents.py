"""Documents of each language to take losses on: held out, or in files. No torch is imported."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from langcodes import tag_is_valid

from tongues.core.errors import Caution, UserError, nearest
from tongues.core.files import path_text
from tongues.core.roles import list_languages
from tongues.evaluate.sizing import ALL, fitting_tokens
from tongues.evaluate.tasks import ItemFault
from tongues.evaluate.words import WORDS
from tongues.experts.ensemble.lineage import Lineage
from tongues.experts.heldout import scored_documents, unknown_cautions, unseen_documents
from tongues.languages.catalogue import catalogue_tag
from tongues.languages.catalogue import languages as languages_there
from tongues.recipe import Files
from tongues.runs.record import Run
from tongues.text import Document
from tongues.text.reading import Fault, find_files, read_file
from tongues.text.tokens import Tokens, load_tokenizer, open_tokens

PART = "scored_in_part"
_LOOKED = 50  # times the limit: documents of a file among which those of many groups are taken
_SPLITS = frozenset({"all", "dev", "new", "old", "test", "train", "val", "valid"})  # some are codes


def read_texts(
    source: str,
    workspace: Path,
    *,
    languages: Sequence[str] | None = None,
    limit: int | Sequence[Run] | None = None,
    lineages: Sequence[Lineage] = (),
    fault: Callable[[ItemFault], None] = lambda fault: None,
    caution: Callable[[Caution], None] = lambda caution: None,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, list[Document]]:
    """The documents of each language that a user names.

    source: prepared tokens by name or folder, of whose held-out documents it is the half that
    nothing was tuned on; or a file or folder of `<tag>.jsonl`, `<tag>.txt` or `<tag>.parquet`,
    packed or not.
    A row has `text` and may have `id` and `group`, which translations of one text share; in `.txt`
    blank lines separate documents. limit: documents of a language, or the runs to which held-out
    text is sized. lineages: of the models, whose training text is left out. fault: receives what is
    not scored: what is not a document, and languages of which all held-out text is training text.
    caution: receives doubts about the rest. say: receives lines for users.
    """
    places = (workspace / "tokens" / source, workspace / source, Path(source))
    prepared = next((place for place in places if (place / "tokens.json").is_file()), None)
    if prepared:
        tokens = open_tokens(prepared)
        selected = _check_languages(source, tokens.languages, languages)
        unseen = unseen_documents(tokens, lineages, workspace)
        known = [lang for lang in selected if not unseen[lang].any()]
        for lang in known:
            what = "all that is held out now"
            fault(ItemFault(path_text(tokens.path), f"`{lang}`", WORDS["trained_on"], what))
        selected = [lang for lang in selected if lang not in known]
        if not selected:
            named = list_languages(f"`{lang}`" for lang in known)
            what = f"the models were trained on all text of {named} that is held out now"
            hint = "name files of other text"
            raise UserError(what, where=str(tokens.path), hint=hint)
        for lang in selected:
            if count := int((~unseen[lang]).sum()):
                documents = {"count": count, "all": len(unseen[lang]), "language": lang}
                say(WORDS["documents_trained_on"].format(**documents, why=WORDS["trained_on"]))
        for doubt in unknown_cautions(tokens, lineages, workspace):
            caution(doubt)
        most = ALL
        if limit is not None and not isinstance(limit, int):
            most, limit = fitting_tokens(limit, len(lineages), len(selected)), None
        for doubt in _part_cautions(tokens, unseen, selected, most):
            caution(doubt)
        return held_out_documents(tokens, unseen, selected, tokens=most, limit=limit)
    limit = limit if isinstance(limit, int) else None
    if not Path(source).exists():
        names = [file.parent.name for file in (workspace / "tokens").glob("*/tokens.json")]
        what = f"there are no prepared tokens, no file and no folder `{source}`"
        raise UserError(what, where="--text", hint=nearest(source, names))
    files: dict[str, list[Path]] = {}
    passed: list[str] = []
    for path in find_files([source], where=source):
        if lang := _language_of(path):
            files.setdefault(lang, []).append(path)
            if lang not in (path.name.partition(".")[0], path.parent.name):
                say(WORDS["read_as"].format(file=path.name, language=lang))
        else:
            passed.append(path.name)
    hint = WORDS["name_files"]
    if not files:
        raise UserError("no file is named for a language", where=source, hint=hint)
    if passed:
        say(WORDS["not_named"].format(source=source, files=", ".join(passed), hint=hint))
    texts: dict[str, list[Document]] = {}
    for lang in _check_languages(source, tuple(files), languages):
        faults: list[Fault] = []
        texts[lang] = _read_files(files[lang], lang, limit, faults)
        if not texts[lang]:
            first = f"{faults[0].reason}: {faults[0].sample}" if faults else "it is empty"
            raise UserError(f"holds no document of `{lang}`", where=source, hint=first)
        for each in faults:
            fault(ItemFault(each.source, f"at {each.place:,}", each.reason, each.sample))
    return texts


def _part_cautions(
    tokens: Tokens, unseen: Mapping[str, np.ndarray], languages: Iterable[str], most: int
) -> Iterator[Caution]:
    """What is left out of each language where only that many tokens are scored."""
    for lang in languages:
        bounds = tokens.shard(lang, "valid").bounds
        count, every = (len(scored_documents(bounds, n, unseen[lang])) for n in (most, ALL))
        if count < every:
            line = WORDS["sized"].format(language=lang, count=count, all=every)
            yield Caution(PART, line)


def _language_of(path: Path) -> str:
    """By the name of a file, or of its folder; empty where neither is a language.

    Three letters may name a source, as in `en/mdn.jsonl`: the language with more text is meant.
    """
    names = path.name.partition(".")[0], path.parent.name
    tags = [tag for tag in map(file_language, names) if tag]
    if len(tags) > 1 and len(tags[0]) == 3:
        sizes = {one.tag: one.text_bytes for one in languages_there()}
        tags.sort(key=lambda tag: -sizes.get(tag, -1))
    return tags[0] if tags else ""


def file_language(name: str) -> str:
    """The language that a file is named for: as written, or the catalogue's tag of `eng_Latn`.

    Empty where the name is of no language.
    """
    if name.lower() in _SPLITS or not tag_is_valid(name):
        return ""
    return catalogue_tag(name) if "_" in name else name


def _check_languages(
    source: str, there: Sequence[str], languages: Sequence[str] | None
) -> Sequence[str]:
    for lang in languages or ():
        if lang not in there:
            hint = nearest(lang, there)
            raise UserError(f"there is no text of `{lang}`", where=source, hint=hint)
    return languages or there


def _read_files(
    paths: Sequence[Path], lang: str, limit: int | None, faults: list[Fault]
) -> list[Document]:
    documents: list[Document] = []
    settings = Files(paths=[str(path) for path in paths], documents="paragraphs")
    for path in paths:
        before = len(documents)
        for item, _ in read_file(path, lang, settings):
            if limit is not None and len(documents) - before >= _LOOKED * limit:
                break
            if isinstance(item, Fault):
                faults.append(item)
            else:  # the groups of plain text are stretches of the file
                plain = ".txt" in path.suffixes
                documents.append(replace(item, group=item.id) if plain else item)
    return [documents[n] for n in _spread([each.group for each in documents], limit)]


def _spread(groups: Sequence[str], limit: int | None) -> list[int]:
    """The places of that many items, in order: the first of every group, then the second, …."""
    seen = Counter[str]()
    rank = []
    for group in groups:
        rank.append(seen[group])
        seen[group] += 1
    return sorted(np.argsort(rank, kind="stable")[:limit].tolist())


def held_out_documents(
    prepared: Tokens,
    unseen: Mapping[str, np.ndarray],
    languages: Sequence[str] | None = None,
    *,
    tokens: int = ALL,
    limit: int | None = None,
) -> dict[str, list[Document]]:
    """The first half of what a preparation held out, as text.

    unseen: which documents (bool) of a language count; where none does, all do. tokens: of a
    language, in whole documents, at least ten. limit: documents of a language.
    """
    tokenizer, place = load_tokenizer(prepared.tokenizer_path), path_text(prepared.path)
    documents = {}
    for lang in languages or prepared.languages:
        shard, groups = prepared.shard(lang, "valid"), prepared.groups[lang]
        half = scored_documents(shard.bounds, tokens, unseen[lang]).tolist()
        numbers = [half[n] for n in _spread([groups[n] for n in half], limit)]
        ids = [shard.tokens[shard.bounds[n] : shard.bounds[n + 1] - 1].tolist() for n in numbers]
        texts = tokenizer.decode_batch(ids, skip_special_tokens=False)
        sources = prepared.sources.get(lang)
        documents[lang] = [
            Document(
                f"{prepared.path.name}/{lang}/{number}",
                lang,
                text,
                groups[number],
                sources[number] if sources else place,
            )
            for number, text in zip(numbers, texts, strict=True)
            if text
        ]
    return documents
