"""From text to tokens on disk, in four stages that each resume where they were interrupted.

read (by file) → select (in one process) → encode (by shard) → write (by language). The bytes are
the same for any number of ranks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tongues.core.cores import core_count
from tongues.core.errors import Caution, UserError
from tongues.core.files import (
    file_hash,
    fingerprint,
    only_one,
    path_text,
    read_json,
    remove_directory,
    whole_directory,
    write_json,
)
from tongues.core.hub import commit_of
from tongues.core.launch import Launcher, run_ranks
from tongues.core.ranks import Rank, Say
from tongues.recipe import HeldOutLike, TextRecipe, TokenSettings
from tongues.text import TextSource, check_text, content_hash, text_bytes
from tongues.text.corpus import Corpus, open_corpus
from tongues.text.gather import gather
from tongues.text.select import nothing_kept, read_selection, write_selection
from tongues.text.sources import find_benchmarks
from tongues.text.summary import read_summary
from tongues.text.tokens.fitting import check_spelling, make_tokenizer
from tongues.text.tokens.frame import TextFrame, read_frame
from tongues.text.tokens.shards import shard_dtype
from tongues.text.tokens.split import draw_held_out, split_cautions, split_documents
from tongues.text.tokens.store import (
    Counts,
    Manifest,
    MissingLanguage,
    Split,
    read_manifest,
    runs_trained_on,
)
from tongues.text.tokens.tokenizer import (
    find_tokenizer,
    load_tokenizer,
    tokenizer_files,
    vocabulary_size,
)
from tongues.text.tokens.words import PREPARED, trained_on, written_line
from tongues.text.tokens.writing import counts_path, encode_part, lengths_of, write_language

_LAYOUT = 3  # raised when the same settings give other bytes than before
_SMALL = 20_000_000  # bytes of text that are not worth a second process
_ABOVE = 1.5  # times the held-out text asked for, from which that is told

# Each stage, and whether ranks share its work.
STAGES = {"read": True, "select": False, "encode": True, "write": True, "finish": False}


def prepare_tokens(
    recipe: TextRecipe,
    workspace: Path,
    progress: Say,
    overwrite: bool = False,
    ranks: int | None = None,
    launcher: Launcher | None = None,
) -> Path:
    """Prepare a recipe's tokens in `workspace/tokens/<recipe.name>` and return that folder.

    Safe to interrupt: the next call resumes from `workspace/corpus/<recipe.corpus>`. Tokens of the
    same text and settings are kept; of others, they are an error unless `overwrite`. progress: gets
    lines for the user. ranks: processes that share the work, by default one a core; launcher:
    starts them elsewhere.
    """
    sources = check_text(recipe.text)
    path, corpus = workspace / "tokens" / recipe.name, workspace / "corpus" / recipe.corpus
    if path.exists() and not overwrite:
        contents = [
            (source.lang, [(path_text(path), content_hash(path)) for path in source.paths])
            for source in sources
        ]
        before, inputs = _completed(read_manifest(path)["inputs"]), _inputs(recipe, contents)
        if before == inputs:
            progress(f"{path}: made from the same text and settings, nothing to do")
            work = corpus / "work"
            begun = work / "inputs.json"
            if work.exists() and (not begun.exists() or read_json(begun) == inputs):
                with only_one(corpus):
                    remove_directory(work)  # left by a kill at the very end
            return _complete(path)
        reason = f"made from other text or settings: {_difference(before, inputs)}"
        raise UserError(reason, where=str(path), hint=_other_tokens(path))
    if overwrite and (runs := runs_trained_on(path)):
        what = PREPARED["in_use"].format(runs=trained_on(runs), name=recipe.name)
        progress(f"caution: {Caution('tokens_in_use', what)}")
    check_spelling(recipe, sources)
    if ranks is None:
        sizes = text_bytes(sources).values()
        small = sum(sizes) <= _SMALL and all(sizes)  # a data set's size is not known
        ranks = 1 if small else core_count()
    with only_one(corpus):
        for stage, shared in STAGES.items():
            run_ranks(
                run_stage,
                (stage, recipe, workspace, sources),
                ranks if shared else 1,
                progress,
                launcher=launcher,
                name=f"{recipe.name}-{stage}",
                folder=corpus / "ranks",
                fingerprint=fingerprint([_settings(recipe), ranks]),
            )
        remove_directory(corpus / "ranks")
    return _complete(path)


def _complete(path: Path) -> Path:
    """The folder of tokens; a UserError where languages of the recipe are not in it."""
    manifest = read_manifest(path)
    if missing := manifest["missing"]:
        there = ", ".join(manifest["languages"])
        reasons = "; ".join(f"{lang}: {why['reason']}" for lang, why in missing.items())
        steps = "\n  ".join(f"{lang}: {why['next_step']}" for lang, why in missing.items())
        what = PREPARED["missing"].format(there=there, missing=", ".join(missing), reasons=reasons)
        raise UserError(what, where=str(path), hint=steps, code="languages_missing")
    return path


def run_stage(
    rank: Rank,
    tell: Say,
    stage: str,
    recipe: TextRecipe,
    workspace: Path,
    sources: Sequence[TextSource],
) -> None:
    """Run a rank's share of a stage; completed work is skipped."""
    folder = workspace / "corpus" / recipe.corpus
    work = folder / "work"
    if stage == "read":
        gather(rank.share(sources), tell, recipe.text, folder, recipe.tokens)
    elif stage == "finish":
        _finish(recipe, folder, workspace / "tokens" / recipe.name, tell)
    elif stage == "select":
        _select(recipe, open_corpus(folder, sources), sources, tell)
    else:
        corpus = open_corpus(folder, sources)
        selection, vocabulary = read_selection(corpus), read_json(work / "vocabulary.json")
        if stage == "encode":
            tokenizer = load_tokenizer(work / "tokens" / "tokenizer.json")
            for part in rank.share(corpus.parts):
                encode_part(
                    corpus, part, selection, tokenizer, TextFrame(**vocabulary["frame"]), tell
                )
        else:
            lengths = lengths_of(corpus, selection)
            held_out = draw_held_out(recipe.tokens, corpus, selection, lengths)
            dtype, empty = shard_dtype(vocabulary["size"]), nothing_kept(corpus)
            for lang in rank.share(corpus.languages):
                if counts_path(folder, lang).exists():
                    continue
                try:
                    if lang in empty:
                        raise empty[lang]
                    documents = split_documents(
                        recipe.tokens, lang, corpus, sources, selection, lengths, held_out
                    )
                except UserError as error:  # the other languages are finished
                    missing = MissingLanguage(reason=error.what, next_step=error.hint)
                    write_json(counts_path(folder, lang), {"missing": missing})
                    continue
                write_language(lang, corpus, lengths, selection, documents, dtype)


def check_tokens(recipe: TextRecipe, workspace: Path) -> None:
    """A UserError where the recipe's tokens are missing, or made with other settings."""
    path, now = workspace / "tokens" / recipe.name, _settings(recipe)
    before = _completed(read_manifest(path)["inputs"])
    if any(before.get(section) != now[section] for section in now):
        reason = f"made from other settings: {_difference({k: before[k] for k in now}, now)}"
        raise UserError(reason, where=str(path), hint=_other_tokens(path))


def _other_tokens(path: Path) -> str:
    """What to do where a folder has tokens of other settings."""
    name, runs = path.name, runs_trained_on(path)
    if runs:
        return PREPARED["rename"].format(name=name, runs=trained_on(runs))
    return PREPARED["replace"].format(name=name)


def _settings(recipe: TextRecipe) -> dict[str, Any]:
    settings = recipe.model_dump(mode="json", include={"text", "tokens"})
    settings["text"].pop("name")  # a place, on which no token depends
    return settings


def _completed(inputs: dict[str, Any]) -> dict[str, Any]:
    """The inputs with the defaults of recipe keys that were added since."""
    sections = {"name": "before", "text": inputs["text"], "tokens": inputs["tokens"]}
    try:
        return inputs | _settings(TextRecipe.model_validate(sections))
    except (ValueError, KeyError, UserError):  # of another version: they differ
        return inputs


def _inputs(
    recipe: TextRecipe, contents: Sequence[tuple[str, Sequence[tuple[str, str]]]]
) -> dict[str, Any]:
    """Everything that the tokens depend on, in JSON; contents: by source, language and hashes."""
    files: dict[str, dict[str, str]] = {lang: {} for lang in recipe.text.languages}
    for lang, hashes in contents:
        files[lang] |= dict(hashes)
    base = find_tokenizer(recipe.tokens.base) if recipe.tokens.base else None
    tokenizer = {file.name: file_hash(file) for file in tokenizer_files(base)}
    identifier = [Path(recipe.text.identifier)] if recipe.text.identifier else []
    like = recipe.tokens.held_out
    frozen = [Path(like.like) / "tokens.json"] if isinstance(like, HeldOutLike) else []
    tools = [*find_benchmarks(recipe.text), *identifier, *frozen]
    languages = list(recipe.text.languages)  # their order decides the text of synthetic ones
    inputs = {"layout": _LAYOUT, "languages": languages, **_settings(recipe)}
    inputs |= {"files": files, "tokenizer": tokenizer}
    return inputs | {"tools": {path_text(path): file_hash(path) for path in tools}}


def _select(recipe: TextRecipe, corpus: Corpus, sources: Sequence[TextSource], tell: Say) -> None:
    write_selection(recipe.text, corpus, sources, tell)
    if len(empty := nothing_kept(corpus)) == len(corpus.languages):
        raise next(iter(empty.values()))
    work = corpus.path / "work"
    inputs = _inputs(recipe, [(each["lang"], each["content"]) for each in corpus.sources])
    before, there = work / "inputs.json", (work / "vocabulary.json").exists()
    if there and before.exists() and read_json(before) == inputs and (work / "tokens").exists():
        return
    remove_directory(work)
    with whole_directory(work) as aside:
        selection = read_selection(corpus)
        tokenizer = make_tokenizer(recipe, corpus, selection, aside / "tokens", tell)
        frame = asdict(read_frame(tokenizer, aside / "tokens"))
        vocabulary = {"size": vocabulary_size(tokenizer), "frame": frame}
        write_json(aside / "vocabulary.json", vocabulary)
        write_json(aside / "inputs.json", inputs)


def _finish(recipe: TextRecipe, folder: Path, path: Path, tell: Say) -> None:
    work = folder / "work"
    place, vocabulary = work / "tokens", read_json(work / "vocabulary.json")
    inputs = read_json(work / "inputs.json")
    summary = read_summary(folder)["languages"]
    every = {lang: read_json(counts_path(folder, lang)) for lang in recipe.text.languages}
    missing = {lang: part["missing"] for lang, part in every.items() if "missing" in part}
    written = {lang: part for lang, part in every.items() if lang not in missing}
    if not written:
        lang, why = next(iter(missing.items()))
        raise UserError(why["reason"], where=f"text of {lang}", hint=why["next_step"])
    manifest = Manifest(
        fingerprint=fingerprint(inputs),
        inputs=inputs,
        vocabulary_size=vocabulary["size"],
        frame=vocabulary["frame"],
        tokenizer_sha256=file_hash(place / "tokenizer.json"),
        languages={lang: part["counts"] for lang, part in written.items()},
        held_out={lang: part["held_out"] for lang, part in written.items()},
        groups={lang: part["groups"] for lang, part in written.items()},
        sources={lang: part["sources"] for lang, part in written.items()},
        missing=missing,
        splits={lang: part["split"] for lang, part in written.items()},
        foreign={lang: summary[lang]["foreign_shares"] for lang in written},
    )
    if isinstance(recipe.tokens.held_out, HeldOutLike):
        for split in manifest["splits"].values():
            split.pop("enough", None)  # the groups are those of the other tokens
    commit = commit_of(find_tokenizer(recipe.tokens.base)) if recipe.tokens.base else None
    if commit:
        manifest["commit"] = commit
    if recipe.corpus != recipe.name:
        manifest["corpus"] = recipe.corpus
    write_json(place / "tokens.json", manifest)
    for lang, splits in manifest["languages"].items():
        foreign = manifest["foreign"][lang] or {}
        overlap = manifest["splits"][lang]["overlap"]["documents"]
        tell(written_line(lang, splits, _wanted(recipe.tokens, splits), foreign, overlap))
        for caution in split_cautions(lang, manifest["splits"][lang]):
            tell(f"caution: {caution}")
    remove_directory(path)
    place.replace(path)
    remove_directory(work)


def _wanted(settings: TokenSettings, splits: Mapping[Split, Counts]) -> int | None:
    """The tokens that were asked for, where far more than that are held out."""
    train, valid = splits["train"]["tokens"], splits["valid"]["tokens"]
    wanted = settings.held_out_of(train + valid)
    like = isinstance(settings.held_out, HeldOutLike)
    return None if like or valid <= _ABOVE * wanted else wanted


def _difference(before: Any, now: Any) -> str:
    left, right = _flat(before), _flat(now)
    shown = [
        f"`{key}`: {left.get(key, 'absent')!s:.40} → {right.get(key, 'absent')!s:.40}"
        for key in {**left, **right}
        if left.get(key) != right.get(key)
    ]
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return ", ".join(shown[:3]) + more


def _flat(value: Any, key: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {key: value}
    inner = (_flat(item, f"{key}.{name}".lstrip(".")) for name, item in value.items())
    return {name: item for settings in inner for name, item in settings.items()}
