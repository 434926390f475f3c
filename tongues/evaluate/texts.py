"""Text: documents of each language, held out or in files, and the losses of models on them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from time import process_time

import numpy as np
from langcodes import tag_is_valid

from tongues.errors import UserError, nearest
from tongues.evaluate.losses import DocumentLosses, Policy, Reading, Spelling, resolved, windows
from tongues.evaluate.rows import Row, each_expert, expert_weights
from tongues.experts.ensemble.ensemble import mixed
from tongues.experts.ensemble.lineage import Lineage
from tongues.experts.ensemble.model import Model
from tongues.experts.heldout import scored_documents, unseen_documents
from tongues.files import path_text
from tongues.recipe import Files
from tongues.text import Document
from tongues.text.reading import Fault, find_files, read_file
from tongues.tokens import Tokens, load_tokenizer, open_tokens

__all__ = ["held_out_documents", "read_texts", "routed_losses", "token_nats"]

_ALL = 2**62  # tokens


def read_texts(
    source: str,
    workspace: Path,
    *,
    languages: Sequence[str] | None = None,
    most: int | None = None,
    lineages: Iterable[Lineage] = (),
    fault: Callable[[Fault], None] = lambda one: None,
) -> dict[str, list[Document]]:
    """The documents of each language that a user names.

    source: the name of prepared tokens, of whose held-out documents it is the half that nothing was
    tuned on; or a file or folder of `<tag>.jsonl`, `<tag>.txt` or `<tag>.parquet`, packed or not.
    A row has `text` and may have `id` and `group`, which translations of one text share; in `.txt`
    a block between blank lines is a document. languages: those wanted; None: all. most: documents
    of a language. lineages: of prepared tokens only documents count that no expert of theirs was
    trained on. fault: receives what is no document.
    """
    if (workspace / "tokens" / source / "tokens.json").is_file():
        tokens = open_tokens(workspace / "tokens" / source)
        wanted = _wanted(source, tokens.languages, languages)
        unseen = unseen_documents(tokens, lineages, workspace)
        for lang in wanted:
            if not unseen[lang].any():
                what = f"`{lang}`: experts were trained on all text that is held out now"
                hint = "leave the language out, or name files"
                raise UserError(what, where=str(tokens.path), hint=hint)
        return held_out_documents(tokens, unseen, wanted, most=most)
    if not Path(source).exists():
        names = [file.parent.name for file in (workspace / "tokens").glob("*/tokens.json")]
        what = f"there are no prepared tokens, no file and no folder `{source}`"
        raise UserError(what, where=str(workspace), hint=nearest(source, names))
    files: dict[str, list[Path]] = {}
    for path in find_files([source], where=source):
        lang = path.name.partition(".")[0]
        if tag_is_valid(lang):  # in a folder, others are passed over
            files.setdefault(lang, []).append(path)
    if not files:
        hint = "name files for their languages, such as `de.jsonl`"
        raise UserError("no file is named for a language", where=source, hint=hint)
    texts: dict[str, list[Document]] = {}
    for lang in _wanted(source, tuple(files), languages):
        faults: list[Fault] = []
        texts[lang] = _read_files(files[lang], lang, most, faults)
        if not texts[lang]:
            first = f"{faults[0].reason}: {faults[0].sample}" if faults else "it is empty"
            raise UserError(f"holds no document of `{lang}`", where=source, hint=first)
        for one in faults:
            fault(one)
    return texts


def _wanted(source: str, there: Sequence[str], languages: Sequence[str] | None) -> Sequence[str]:
    for lang in languages or ():
        if lang not in there:
            hint = nearest(lang, there)
            raise UserError(f"there is no text of `{lang}`", where=source, hint=hint)
    return languages or there


def _read_files(
    paths: Sequence[Path], lang: str, most: int | None, faults: list[Fault]
) -> list[Document]:
    """The first documents of files; what is no document joins the faults."""
    documents: list[Document] = []
    settings = Files(paths=[str(path) for path in paths], documents="paragraphs")
    for path in paths:
        for item, _ in read_file(path, lang, settings):
            if most is not None and len(documents) >= most:
                return documents
            if isinstance(item, Fault):
                faults.append(item)
            else:  # the groups of plain text are stretches of the file
                plain = ".txt" in path.suffixes
                documents.append(replace(item, group=item.id) if plain else item)
    return documents


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
    tokenizer, place = load_tokenizer(prepared.tokenizer_path), path_text(prepared.path)
    documents = {}
    for lang in languages or prepared.languages:
        shard, groups = prepared.shard(lang, "valid"), prepared.groups[lang]
        numbers = scored_documents(shard.bounds, tokens, unseen[lang])[:most].tolist()
        ids = [shard.tokens[shard.bounds[n] : shard.bounds[n + 1] - 1].tolist() for n in numbers]
        texts = tokenizer.decode_batch(ids, skip_special_tokens=False)
        documents[lang] = [
            Document(f"{prepared.path.name}/{lang}/{number}", lang, text, groups[number], place)
            for number, text in zip(numbers, texts, strict=True)
            if text
        ]
    return documents


def routed_losses(
    subjects: Sequence[Model],
    documents: Sequence[Document],
    policy: Policy | None = None,
    *,
    tell: Callable[[str], None] = lambda line: None,
) -> list[DocumentLosses]:
    """The losses of an ensemble by each of several routings on documents of one language.

    subjects: one ensemble, each with a routing; of several, every expert reads every document once
    and all routings follow; of one, experts read only what that routing needs. All of a text is
    scored, so the bytes are those of the whole text.
    """
    first = subjects[0]
    tokens = [first.encode(document.text) for document in documents]
    languages = [document.lang for document in documents]
    likely, routed = _route(subjects, tokens, languages, policy, tell)
    everyone = len(subjects) > 1 or first.ensemble.k == 1 or first.routing.learns
    alone = tuple((-np.concatenate(likely).sum(axis=0)).tolist()) if everyone else ()
    spelling = Spelling(first.tokenizer)
    return [
        DocumentLosses(
            ids=tuple(document.id for document in documents),
            nats=np.array([own.sum() for own in nats], dtype=np.float64),
            tokens=np.array([len(own) for own in nats], dtype=np.int64),
            bytes=np.array([len(one.text.encode()) for one in documents], dtype=np.int64),
            segments=tuple(document.group for document in documents),
            missing=np.array([spelling.missing(document.text) for document in documents]),
            cost=cost,
            of_experts=alone,
        )
        for nats, cost in routed
    ]


def token_nats(
    subject: Model,
    documents: Sequence[np.ndarray],
    policy: Policy | None = None,
    *,
    languages: Sequence[str | None] | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> list[np.ndarray]:
    """The nats of every token of documents of token ids, which come without `first`.

    languages: of each document, for the routing `language`.
    """
    langs = languages or [None] * len(documents)
    _, ((nats, _),) = _route([subject], documents, langs, policy, tell)
    return nats


def _route(
    subjects: Sequence[Model],
    documents: Sequence[np.ndarray],
    languages: Sequence[str | None],
    policy: Policy | None,
    tell: Callable[[str], None],
) -> tuple[list[np.ndarray], list[tuple[list[np.ndarray], Reading]]]:
    """Each document's log-probabilities [T, k] under the experts, and what each routing makes.

    That is the nats of every token, and what it costs. Of one routing whose weights are known
    without reading, an expert reads only what has a weight; the rest is -inf.
    """
    first, weights = subjects[0], None
    policy = resolved(policy or Policy(), first.ensemble.context)
    if len(subjects) == 1 and first.ensemble.k > 1 and not first.routing.learns:
        both = zip(documents, languages, strict=True)
        weights = [expert_weights(first, tokens, language) for tokens, language in both]
    rows: list[Row] = []
    parts: list[np.ndarray] = []
    counts: list[int] = []  # windows of each document
    for place, document in enumerate(documents):
        text, before = np.concatenate([np.array([first.first]), document]), len(rows)
        for window in windows(policy, len(text)):
            tokens = text[window.begin : window.stop]
            rows.append(Row(tokens, window.start - window.begin, None, len(rows)))
            if weights is not None:
                parts.append(weights[place][window.start - 1 : window.stop - 1])
        counts.append(len(rows) - before)
    reached, seconds = each_expert(first, rows, None if weights is None else parts, tell=tell)
    each, none = iter(reached), np.empty((0, first.ensemble.k))
    read = [np.concatenate([none, *(one.likely for one in islice(each, n))]) for n in counts]
    return read, [_by_routing(one, documents, languages, policy, read, seconds) for one in subjects]


def _by_routing(
    subject: Model,
    documents: Sequence[np.ndarray],
    languages: Sequence[str | None],
    policy: Policy,
    read: Sequence[np.ndarray],
    seconds: float,
) -> tuple[list[np.ndarray], Reading]:
    """The nats of every token by a routing, and its cost; seconds: an expert takes for a token."""
    ensemble = subject.ensemble
    sizes = np.array(ensemble.models.bytes)
    nats: list[np.ndarray] = []
    total, choosing, memory = 0, 0.0, 0
    for tokens, language, likely in zip(documents, languages, read, strict=True):
        began, weights = process_time(), np.ones((len(tokens), 1))
        if ensemble.k > 1:
            weights = expert_weights(subject, tokens, language, likely)
        nats.append(-mixed(weights, likely))
        choosing += process_time() - began
        needed = weights > 0 if subject.routing.chooses(ensemble.k) else np.ones_like(weights, bool)
        counts = np.zeros(ensemble.k, dtype=np.int64)
        for window in windows(policy, len(tokens) + 1):  # each up to its last token with a weight
            own = needed[window.start - 1 : window.stop - 1]
            counts += np.where(own.any(axis=0), len(own) - np.argmax(own[::-1], axis=0), 0)
        total += int(counts.sum())
        memory = max(memory, int(sizes[counts > 0].sum()))
    return nats, Reading(total, total * seconds + choosing, memory)
