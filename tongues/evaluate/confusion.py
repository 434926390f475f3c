"""Language confusion of generated text: whether answers stay in the language of their prompts.

Lines and words are judged as in the Language Confusion Benchmark (Marchisio et al. 2024,
arXiv:2406.20052): an answer passes by lines if each of its lines of five words or more is
identified as the language; of those, in a language that is not written in Latin letters, it passes
by words if it has no English word. Differences: the identifier is py3langid unless a fastText model
is named, languages of one macrolanguage are the same, every word of four or more small Latin
letters counts as English, and two characters count as a word in scripts without spaces.
"""

import re
import string
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from langcodes import Language

from tongues.errors import UserError
from tongues.evaluate.documents import file_language
from tongues.evaluate.harness import HarnessScores, Metric
from tongues.evaluate.tasks import ItemFault
from tongues.files import fingerprint
from tongues.recipe import Files
from tongues.recipe.texts import Columns
from tongues.text import Document
from tongues.text.reading import Fault, read_file
from tongues.text.signals.close import UNKNOWN, same_language
from tongues.text.signals.language import Identifier, load_identifier

if TYPE_CHECKING:  # with torch
    from tongues.experts.ensemble.model import Model

__all__ = ["CONFUSION", "ConfusionTask", "confusion_tasks", "pass_rates", "score_confusion"]

CONFUSION = "language-confusion"
_TOKENS = 100  # of an answer, as published
_WORDS = 5  # of a line that is judged, as published
_SURE = 0.3  # probability of fastText below which it does not know, as published
_PROMPT = 100  # characters of a document that is a prompt
_TOGETHER = 32  # prompts
_LONGEST = 4  # tokens of a character, as bytes
_COLUMNS = Columns(text="prompt")
_PUNCTUATION = str.maketrans({**dict.fromkeys(string.punctuation + "،", ""), "—": " "})
_ENGLISH = re.compile(r"[a-z]{4,}")
_LATIN = ("Latn", None)  # scripts, of languages whose words are not judged
_NO_SPACES = ("Hans", "Hant", "Jpan", "Khmr", "Laoo", "Mymr", "Thai")


@dataclass(frozen=True, slots=True)
class ConfusionTask:
    """Prompts in a language."""

    language: str
    prompts: tuple[Document, ...]
    identifier: Path | None  # of fastText
    num_fewshot: int = 0
    draws: int = 1

    def fingerprint(self, draw: int) -> str:
        """Changes with anything that a model's scores depend on."""
        texts = [(prompt.id, prompt.group, prompt.text) for prompt in self.prompts]
        identifies = load_identifier(self.identifier).name
        return fingerprint([CONFUSION, "judged, whole characters", texts, identifies, _TOKENS])

    def score(self, model: "Model", draw: int = 0) -> HarnessScores:
        """The values of a model's answers."""
        return score_confusion(model, self)


def confusion_tasks(
    languages: Sequence[str] | None,
    places: Sequence[str | Path],
    texts: Mapping[str, Mapping[str, Sequence[Document]]],
    *,
    limit: int | None,
    identifier: Path | None,
    faults: list[ItemFault],
) -> dict[str, ConfusionTask]:
    """Prompts in files such as `language-confusion/sw.jsonl`, else the beginnings of texts.

    faults: receives what is not a prompt, and the languages that the identifier does not know.
    """
    prompts: dict[str, list[Document]] = {}
    for file in (x for place in places for x in sorted((Path(place) / CONFUSION).glob("*.*"))):
        lang = file_language(file.name.partition(".")[0])
        settings = Files(paths=[str(file)], columns=_COLUMNS)
        for item, _ in read_file(file, lang, settings) if lang else ():
            if isinstance(item, Fault):
                fault = ItemFault(item.source, f"at {item.place:,}", item.reason, item.sample)
                faults.append(fault)
            else:
                prompts.setdefault(lang, []).append(item)
    for by_language in () if prompts else texts.values():
        for lang, documents in by_language.items():
            prompts.setdefault(lang, []).extend(
                Document(of.id, lang, _beginning(of.text), of.group, of.source) for of in documents
            )
    chosen = {lang: own for lang, own in prompts.items() if lang in (languages or prompts)}
    if not chosen:
        hint = f"`--text tokens/NAME`, or `--data FOLDER` with `{CONFUSION}/LANGUAGE.jsonl`"
        hint = f"there are some in {', '.join(prompts)}" if prompts else hint
        what = f"has no prompts in {', '.join(languages)}" if languages else "has no prompts"
        raise UserError(what, where=CONFUSION, hint=hint)
    identifies = load_identifier(identifier)
    tasks: dict[str, ConfusionTask] = {}
    for lang, own in chosen.items():
        if identifies.knows(lang):
            tasks[lang] = ConfusionTask(lang, tuple(own[:limit]), identifier)
        else:
            why = "a language that is not identified"
            faults.append(ItemFault(CONFUSION, f"`{lang}`", why, identifies.name))
    if not tasks:
        what = f"{identifies.name} knows none of {', '.join(chosen)}"
        hint = "name a fastText model that does, such as GlotLID: `--identifier model.bin`"
        raise UserError(what, where=CONFUSION, hint=hint)
    return tasks


def _beginning(text: str) -> str:
    start = " ".join(text.split())[: _PROMPT + 1]
    return start.rpartition(" ")[0] if len(start) > _PROMPT and " " in start else start[:_PROMPT]


def score_confusion(model: "Model", task: ConfusionTask) -> HarnessScores:
    """Let a model continue every prompt by its most probable tokens, and judge the answers."""
    from tongues.experts.ensemble.generate import continue_texts
    from tongues.experts.ensemble.request import Sampling

    count = min(_TOKENS, (model.context or 2 * _TOKENS) // 2)
    prompts = [_fitting(model, prompt.text, count) for prompt in task.prompts]
    known = task.language if task.language in model.ensemble.lineage.languages else None
    answers: list[str] = []
    for start in range(0, len(prompts), _TOGETHER):
        written = continue_texts(
            model,
            prompts[start : start + _TOGETHER],
            max_tokens=count,
            language=known,
            sampling=Sampling(temperature=0),
        )
        answers += [text.text for text in written.texts]
    by_lines, by_words = pass_rates(answers, task.language, load_identifier(task.identifier))
    latin = Language.get(task.language).maximize().script in _LATIN
    return HarnessScores(
        ids=tuple(prompt.id for prompt in task.prompts),
        groups=tuple(prompt.group for prompt in task.prompts),
        choices=(0,) * len(answers),
        labels=(-1,) * len(answers),
        metrics=(
            Metric("judged", True, True, tuple(float(of is not None) for of in by_lines), ()),
            Metric("line pass rate", True, True, by_lines, ()),
            *([] if latin else [Metric("word pass rate", True, True, by_words, ())]),
        ),
        shots=0,
        example=f"{prompts[0]}|{answers[0]}",
    )


def _fitting(model: "Model", text: str, count: int) -> str:
    """The end of a text behind which there is room for a number of tokens, in whole characters."""
    while model.context and (surplus := len(model.encode(text)) - (model.context - count)) > 0:
        text = text[-(-surplus // _LONGEST) :]
    return text


def pass_rates(
    answers: Sequence[str],
    language: str,
    identifier: Identifier,
    english: Collection[str] | None = None,
) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    """Whether each answer passes by lines and by words, 1 or 0; None where it is not judged.

    english: words of four or more small letters that count; None: all.
    """
    script = Language.get(language).maximize().script
    lines: list[tuple[int, str]] = []
    for number, answer in enumerate(answers):
        for line in answer.strip().translate(_PUNCTUATION).split("\n"):
            size = len(line.split())
            if script in _NO_SPACES:
                size = max(size, sum(not char.isspace() for char in line) // 2)
            if size >= _WORDS:
                lines.append((number, line))
    by_lines: list[float | None] = [None] * len(answers)
    by_words: list[float | None] = [None] * len(answers)
    if not lines:
        return tuple(by_lines), tuple(by_words)
    numbers, scores = identifier.classify([line.encode() for _, line in lines])
    names, least = (*identifier.labels, UNKNOWN), _SURE if "fastText" in identifier.name else 0.0
    for (number, _), label, score in zip(lines, numbers.tolist(), scores.tolist(), strict=True):
        right = score > least and same_language(language, names[label])
        by_lines[number] = float(right and by_lines[number] != 0.0)
    if script not in _LATIN:
        for number, line in lines:
            if by_lines[number]:
                words = filter(_ENGLISH.fullmatch, line.split())
                clean = not any(english is None or word in english for word in words)
                by_words[number] = float(clean and by_words[number] != 0.0)
    return tuple(by_lines), tuple(by_words)
