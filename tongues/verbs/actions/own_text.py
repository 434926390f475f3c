"""The text of a new recipe: how much there is, and what the base's tokenizer does with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tongues.core.errors import UserError
from tongues.core.quantities import show_bytes, show_count
from tongues.languages import Language
from tongues.plan import BaseCheckpoint, OwnFiles, Target
from tongues.plan.question import read_target
from tongues.plan.recipe import replay_language
from tongues.text.folder import check_language, find_texts
from tongues.text.tokens.fertility import measure
from tongues.text.tokens.tokenizer import load_tokenizer
from tongues.text.tokens.trial import try_tokenizer

_LEAST = 2000  # tokens of text; `prepare` refuses fewer where 1,000 are held out


@dataclass(frozen=True, slots=True)
class OwnText:
    """Text of a language to learn and of what is replayed: as a recipe takes it, and as a plan."""

    own: OwnFiles
    target: Target

    @property
    def lines(self) -> Sequence[str]:
        """What the base's tokenizer does with the text, where it does it badly."""
        trial, language = self.own.trial, self.target.language
        if trial is None:
            return ()
        lines = []
        if trial.new_tokens:
            lines.append(
                f"tokenizer: it falls back to bytes for `{language}` ({trial.base:.2f} bytes a "
                f"token), so the recipe adds {trial.new_tokens:,} tokens."
            )
        for lang, caution in trial.unfit.items():
            lines.append(f"caution: `{lang}`: {caution.sentence}; `byte_fallback` allows it.")
        return lines


def read_targets(
    available: Path | str | None, languages: Sequence[str], bases: Sequence[BaseCheckpoint]
) -> tuple[Target, ...]:
    """The languages to learn with their text: of a file or folder, an amount, or the catalogue's.

    Files are of any kind that `prepare` reads; a sample is checked, and encoded by every base that
    is on this disk.
    """
    where, base = "--available-text", bases[0] if bases else None
    place = Path(available) if available and Path(available).exists() else None
    if len(languages) > 1 and available is not None and not (place and place.is_dir()):
        hint = "name a folder with `sw/`, `yo/`; without it the catalogue's amounts are taken"
        raise UserError("one amount of text, and several languages", where=where, hint=hint)
    if place is None:
        amount = None if available is None else str(available)
        return tuple(read_target(amount, language, base) for language in languages or ("",))
    if not languages:
        raise UserError("text is of a language", where=where, hint="add `--language sw`")
    alone = not place.is_dir()
    files = {x: [str(place)] if alone else find_texts(place, (x,))[x] for x in languages}
    texts, folders = check_language(files, where), {x.name: x.tokenizer_folder for x in bases}
    known = {name: load_tokenizer(folder) for name, folder in folders.items() if folder}
    targets: list[Target] = []
    for language, text in texts.items():
        sample = {language: [("", document) for document in text.sample]}
        measured = {name: measure(of, sample)[language] for name, of in known.items()}
        per_token = {name: of.bytes_per_token for name, of in measured.items()}
        size = float(text.bytes)
        targets.append(Target(language, size, None, str(place), per_token, text.sample))
    return tuple(targets)


def read_own_text(folder: Path, language: Language, base: BaseCheckpoint) -> OwnText:
    """The text of a folder, checked; a UserError where there is none of the language."""
    target, where = language.tag, f"--text {folder}"
    found = find_texts(folder, tuple(dict.fromkeys((target, *(base.languages or ("en",))))))
    if target not in found:
        hint = f"name a folder with text of `{target}`, such as `{target}/` or `{target}.jsonl`"
        raise UserError(f"there is no text of `{target}`", where=where, hint=f"{hint} in it")
    replayed = replay_language(base, (target,), found)
    files = {lang: found[lang] for lang in (target, *([replayed] if replayed else []))}
    texts = check_language(files, where)
    sizes = {lang: text.bytes for lang, text in texts.items()}
    samples = {lang: text.sample for lang, text in texts.items()}
    place = base.tokenizer_folder
    trial = try_tokenizer(place, target, samples) if place else None
    measured = {base.name: trial.base} if trial else None
    learned = Target(target, float(sizes[target]), per_token=measured, sample=samples[target])
    if (tokens := learned.unique(base)) < _LEAST:
        what = f"about {show_count(tokens)} tokens of `{target}` are too little text: a recipe "
        what += "holds out 1k tokens, and trains on as many at least"
        needed = 2 * _LEAST * sizes[target] / tokens
        raise UserError(what, where=where, hint=f"give {show_bytes(needed)} or more")
    return OwnText(OwnFiles(files, sizes, trial), learned)
