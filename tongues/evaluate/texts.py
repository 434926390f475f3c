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
    limit: int | None = None,
    lineages: Iterable[Lineage] = (),
    fault: Callable[[Fault], None] = lambda fault: None,
) -> dict[str, list[Document]]:
    """The documents of each language that a user names.

    source: the name of prepared tokens, of whose held-out documents it is the half that nothing was
    tuned on; or a file or folder of `<tag>.jsonl`, `<tag>.txt` or `<tag>.parquet`, packed or not.
    A row has `text` and may have `id` and `group`, which translations of one text share; in `.txt`
    blank lines separate documents. limit: documents of a language. lineages: ensembles whose
    training text is left out. fault: receives what is not a document.
    """
    if (workspace / "tokens" / source / "tokens.json").is_file():
        tokens = open_tokens(workspace / "tokens" / source)
        selected = _check_languages(source, tokens.languages, languages)
        unseen = unseen_documents(tokens, lineages, workspace)
        for lang in selected:
            if not unseen[lang].any():
                what = f"`{lang}`: experts were trained on all text that is held out now"
                hint = "leave the language out, or name files"
                raise UserError(what, where=str(tokens.path), hint=hint)
        return held_out_documents(tokens, unseen, selected, limit=limit)
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
    for lang in _check_languages(source, tuple(files), languages):
        faults: list[Fault] = []
        texts[lang] = _read_files(files[lang], lang, limit, faults)
        if not texts[lang]:
            first = f"{faults[0].reason}: {faults[0].sample}" if faults else "it is empty"
            raise UserError(f"holds no document of `{lang}`", where=source, hint=first)
        for each in faults:
            fault(each)
    return texts


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
        for item, _ in read_file(path, lang, settings):
            if limit is not None and len(documents) >= limit:
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
        numbers = scored_documents(shard.bounds, tokens, unseen[lang])[:limit].tolist()
        ids = [shard.tokens[shard.bounds[n] : shard.bounds[n + 1] - 1].tolist() for n in numbers]
        texts = tokenizer.decode_batch(ids, skip_special_tokens=False)
        documents[lang] = [
            Document(f"{prepared.path.name}/{lang}/{number}", lang, text, groups[number], place)
            for number, text in zip(numbers, texts, strict=True)
            if text
        ]
    return documents


def routed_losses(
    models: Sequence[Model],
    documents: Sequence[Document],
    policy: Policy | None = None,
    *,
    tell: Callable[[str], None] = lambda line: None,
) -> list[DocumentLosses]:
    """The losses of an ensemble by each of several routings on documents of one language.

    models: one ensemble, each with a routing. For several routings, every expert reads every
    document once; for one, experts read only what it needs.
    """
    first = models[0]
    tokens = [first.encode(document.text) for document in documents]
    languages = [document.lang for document in documents]
    log_probs, routed = _route(models, tokens, languages, policy, tell)
    complete = len(models) > 1 or first.ensemble.k == 1 or first.routing.learns
    of_experts = tuple((-np.concatenate(log_probs).sum(axis=0)).tolist()) if complete else ()
    spelling = Spelling(first.tokenizer)
    return [
        DocumentLosses(
            ids=tuple(document.id for document in documents),
            nats=np.array([own.sum() for own in nats], dtype=np.float64),
            tokens=np.array([len(own) for own in nats], dtype=np.int64),
            bytes=np.array([len(document.text.encode()) for document in documents], dtype=np.int64),
            segments=tuple(document.group for document in documents),
            missing=np.array([spelling.missing(document.text) for document in documents]),
            cost=cost,
            of_experts=of_experts,
        )
        for nats, cost in routed
    ]


def token_nats(
    model: Model,
    documents: Sequence[np.ndarray],
    policy: Policy | None = None,
    *,
    languages: Sequence[str | None] | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> list[np.ndarray]:
    """The nats of every token of documents of token ids (without `first`)."""
    langs = languages or [None] * len(documents)
    _, ((nats, _),) = _route([model], documents, langs, policy, tell)
    return nats


def _route(
    models: Sequence[Model],
    documents: Sequence[np.ndarray],
    languages: Sequence[str | None],
    policy: Policy | None,
    tell: Callable[[str], None],
) -> tuple[list[np.ndarray], list[tuple[list[np.ndarray], Reading]]]:
    """Each document's log-probabilities [T, k], and of each routing the nats and the cost.

    For one routing whose weights are known beforehand, log-probabilities without weight are -inf.
    """
    first, weights = models[0], None
    bos = first.ensemble.frame.bos
    policy = resolved(policy or Policy(), first.ensemble.context)
    if len(models) == 1 and first.ensemble.k > 1 and not first.routing.learns:
        both = zip(documents, languages, strict=True)
        weights = [expert_weights(first, tokens, language) for tokens, language in both]
    rows: list[Row] = []
    parts: list[np.ndarray] = []
    counts: list[int] = []  # windows of each document
    for place, document in enumerate(documents):
        text, before = np.concatenate([np.array([first.first]), document]), len(rows)
        for window in windows(policy, len(text)):
            tokens = text[window.begin : window.stop]
            if window.begin and bos is not None and not policy.back:  # lm-eval's have it once
                tokens = np.concatenate([[bos], tokens[1:]])
            rows.append(Row(tokens, window.start - window.begin, None, len(rows)))
            if weights is not None:
                parts.append(weights[place][window.start - 1 : window.stop - 1])
        counts.append(len(rows) - before)
    scores, seconds = each_expert(first, rows, None if weights is None else parts, tell=tell)
    each, none = iter(scores), np.empty((0, first.ensemble.k))
    read = [np.concatenate([none, *(row.log_probs for row in islice(each, n))]) for n in counts]
    return read, [_by_routing(each, documents, languages, policy, read, seconds) for each in models]


def _by_routing(
    model: Model,
    documents: Sequence[np.ndarray],
    languages: Sequence[str | None],
    policy: Policy,
    read: Sequence[np.ndarray],
    seconds: float,
) -> tuple[list[np.ndarray], Reading]:
    """The nats of every token by a routing, and its cost; seconds: an expert takes for a token."""
    ensemble = model.ensemble
    sizes = np.array(ensemble.models.bytes)
    nats: list[np.ndarray] = []
    total, choosing, memory = 0, 0.0, 0
    for tokens, language, log_probs in zip(documents, languages, read, strict=True):
        began, weights = process_time(), np.ones((len(tokens), 1))
        if ensemble.k > 1:
            weights = expert_weights(model, tokens, language, log_probs)
        nats.append(-mixed(weights, log_probs))
        choosing += process_time() - began
        needed = weights > 0 if model.routing.chooses(ensemble.k) else np.ones_like(weights, bool)
        counts = np.zeros(ensemble.k, dtype=np.int64)
        for window in windows(policy, len(tokens) + 1):  # each up to its last token with a weight
            own = needed[window.start - 1 : window.stop - 1]
            counts += np.where(own.any(axis=0), len(own) - np.argmax(own[::-1], axis=0), 0)
        total += int(counts.sum())
        memory = max(memory, int(sizes[counts > 0].sum()))
    return nats, Reading(total, total * seconds + choosing, memory)
