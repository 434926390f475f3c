"""The text of a plan: how much there is, and what the tokenizers of bases do with it."""

from collections.abc import Sequence
from pathlib import Path

from tongues.core.errors import UserError
from tongues.plan import BaseCheckpoint, Question, Target
from tongues.plan.question import read_target
from tongues.text.folder import check_language, find_texts
from tongues.text.tokens.fertility import measure
from tongues.text.tokens.tokenizer import load_tokenizer


def with_amounts(question: Question, languages: Sequence[str], available: str | None) -> Question:
    """The question with text by its amount, or with what the catalogue knows of."""
    if len(languages) > 1 and available is not None:
        where = "--available-text"
        hint = "name a folder with `sw/`, `yo/`; without it the catalogue's amounts are taken"
        raise UserError("one amount of text, and several languages", where=where, hint=hint)
    base = question.bases[0] if question.bases else None
    targets = (read_target(available, language, base) for language in languages or ("",))
    return question.with_text(tuple(targets))


def with_files(question: Question, languages: Sequence[str], place: Path, where: str) -> Question:
    """The question with the text of a file or folder; a UserError where a language has none.

    Files are of any kind that `prepare` reads; a sample is checked, and encoded by every base that
    is on this disk. Of a folder, text of the first language that a base may replay is taken too.
    """
    if not languages:
        raise UserError("text is of a language", where=where, hint="add `--language sw`")
    known = [lang for base in question.bases for lang in base.languages or ("en",)]
    known = [lang for lang in dict.fromkeys(known) if lang not in languages]
    if place.is_file():
        found = {lang: [str(place)] for lang in languages[:1]}
    else:
        found = find_texts(place, (*languages, *known))
    for lang in languages:
        if lang not in found:
            hint = f"name a folder with text of `{lang}`, such as `{lang}/` or `{lang}.jsonl` in it"
            raise UserError(f"there is no text of `{lang}`", where=where, hint=hint)
    replayed = next((lang for lang in known if lang in found), None)
    files = {lang: found[lang] for lang in (*languages, *([replayed] if replayed else []))}
    texts = _read(files, question.bases, where)
    targets = tuple(texts[lang] for lang in languages)
    return question.with_text(targets, texts.get(replayed or ""), where)


def _read(
    files: dict[str, list[str]], bases: Sequence[BaseCheckpoint], where: str
) -> dict[str, Target]:
    """The text of each language, checked and measured."""
    texts, folders = check_language(files, where), {x.name: x.tokenizer_folder for x in bases}
    tokenizers = {name: load_tokenizer(folder) for name, folder in folders.items() if folder}
    targets = dict[str, Target]()
    for language, text in texts.items():
        sample = {language: [("", document) for document in text.sample]}
        measured = {name: measure(of, sample)[language] for name, of in tokenizers.items()}
        per_token = {name: of.bytes_per_token for name, of in measured.items()}
        paths, size = tuple(files[language]), float(text.bytes)
        targets[language] = Target(language, size, None, paths, per_token, text.sample)
    return targets
