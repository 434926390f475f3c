"""Language confusion by our definition and by the published one, on the same texts.

Answers of one to four lines are put together from web documentation in eleven languages: clean
ones, ones with a line in English, ones with English words, and short lines. The published code
judges each, then ours with the same fastText model and list of English words, then ours as it is,
with py3langid and any word of four small Latin letters: this text is about code, which has many.
Japanese is left out: the published code needs a dictionary for it.

usage: python benchmarks/language_confusion.py PUBLISHED DATA
PUBLISHED: a folder with `compute_metrics.py` of github.com/for-ai/language-confusion, the list
`words` and the model `lid.176.bin` that it names; its modules must be importable. DATA: a folder
with `text/mdn`.
"""

import gzip
import importlib.util
import json
import os
import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from tongues.evaluate.confusion import pass_rates
from tongues.text.signals.language import load_identifier

LANGUAGES = ("ar", "de", "es", "fr", "he", "ko", "pl", "ru", "tr", "vi", "zh")
ANSWERS = 200  # of a language


def lines_of(data: Path, lang: str) -> list[str]:
    """Lines of prose."""
    with gzip.open(data / f"text/mdn/{lang}.jsonl.gz", "rt", encoding="utf-8") as rows:
        texts = [json.loads(row)["text"] for _, row in zip(range(400), rows, strict=False)]
    lines = (line.strip() for text in texts for line in text.split("\n"))
    return [line for line in dict.fromkeys(lines) if 40 < len(line) < 600 and "`" not in line]


def answers_of(own: list[str], english: list[str], seed: int) -> list[str]:
    """Half of them clean, the rest with a line or words of English, or short lines."""
    random, answers = np.random.default_rng(seed), list[str]()
    for number in range(ANSWERS):
        lines = [own[random.integers(len(own))] for _ in range(random.integers(1, 5))]
        if number % 6 == 3:
            lines.insert(0, english[random.integers(len(english))])
        elif number % 6 == 4:
            words = lines[-1].split()
            word = str(random.choice(["however", "because", "function", "OK", "the"]))
            words.insert(len(words) // 2, word)
            lines[-1] = " ".join(words)
        elif number % 6 == 5:
            lines = [" ".join(line.split()[:4])[:12] for line in lines]
        answers.append("\n".join(lines))
    return answers


def published(folder: Path) -> Any:
    """The published code; it reads its files where it runs."""
    here = Path.cwd()
    os.chdir(folder)
    spec = importlib.util.spec_from_file_location("published", folder / "compute_metrics.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    os.chdir(here)
    return module


def main(folder: Path, data: Path) -> None:
    """Judge every answer three times."""
    theirs = published(folder)
    fast, own = load_identifier(folder / "lid.176.bin"), load_identifier(None)
    english = lines_of(data, "en")
    lines = [f"{date.today()}, {ANSWERS} answers of each language"]
    lines.append("line and word pass rates, %; equal: answers judged alike, the same fastText")
    head = ("language", "published", "tongues", "equal", "py3langid", "published", "tongues")
    head += ("equal", "any word")
    lines.append("{:9}{:>10}{:>9}{:>7}{:>11}{:>11}{:>9}{:>9}{:>10}".format(*head))
    same = count = 0
    for seed, lang in enumerate(LANGUAGES):
        answers = answers_of(lines_of(data, lang), english, seed)
        whole = theirs.compute_metrics(answers, lang)
        each = [theirs.compute_metrics([answer], lang) for answer in answers]
        by_lines, by_words = pass_rates(answers, lang, fast, theirs.en_words)
        langid, any_word = pass_rates(answers, lang, own)
        alike = sum(
            of["lpr"] == (1 if x is None else x) for of, x in zip(each, by_lines, strict=True)
        )
        both = zip(each, by_words, strict=True)
        words = [(of.get("wpr"), x) for of, x in both if x is not None]
        right = sum(a is None or a == b for a, b in words)
        same, count = same + alike, count + len(answers)
        shown = [
            f"{100 * of:.1f}" if of is not None else "–"
            for of in (whole["lpr"], mean(by_lines), mean(langid), whole.get("wpr"))
        ]
        shown += [f"{100 * of:.1f}" if of else "–" for of in map(mean, (by_words, any_word))]
        right_of = f"{right}/{len(words)}" if words else "–"
        lines.append(
            f"{lang:9}{shown[0]:>10}{shown[1]:>9}{alike:>7}{shown[2]:>11}"
            f"{shown[3]:>11}{shown[4]:>9}{right_of:>9}{shown[5]:>10}"
        )
    lines.append(f"{same} of {count} answers judged alike by lines")
    print(*lines, sep="\n")
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def mean(values: tuple[float | None, ...]) -> float | None:
    """Of those that are judged."""
    judged = [value for value in values if value is not None]
    return float(np.mean(judged)) if judged else None


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
