"""Language confusion: which answers pass by their lines and words, and as a task."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tongues.cli.main import command
from tongues.errors import UserError
from tongues.evaluate.confusion import (
    ConfusionTask,
    confusion_tasks,
    pass_rates,
    score_confusion,
)
from tongues.experts.ensemble.model import open_model
from tongues.text import Document
from tongues.text.signals.language import load_identifier

if TYPE_CHECKING:
    from tongues.evaluate.tasks import ItemFault

RUSSIAN = "Сегодня утром мы долго гуляли по берегу реки и говорили о погоде."
GREEK = "Σήμερα το πρωί περπατήσαμε για πολλή ώρα δίπλα στο ποτάμι."
GERMAN = "Heute morgen sind wir lange am Ufer des Flusses spazieren gegangen."
ENGLISH = "This morning we walked for a long time along the bank of the river."


def test_an_answer_passes_by_all_of_its_lines_and_then_by_its_words() -> None:
    answers = {
        RUSSIAN: (1.0, 1.0),
        f"{RUSSIAN}\n{RUSSIAN}": (1.0, 1.0),
        f"{RUSSIAN}\n{ENGLISH}": (0.0, None),  # one line of two
        f"{RUSSIAN} because": (1.0, 0.0),
        f"{RUSSIAN} Because NATO, the #1.": (1.0, 1.0),  # capitals, and three letters
        f"{RUSSIAN}\nyes of course because": (1.0, 1.0),  # a line of four words is not judged
        "Да, конечно!": (None, None),
        "": (None, None),
    }
    by_lines, by_words = pass_rates(list(answers), "ru", load_identifier(None))
    expected = [(lines, words) for lines, words in answers.values()]
    assert list(zip(by_lines, by_words, strict=True)) == expected
    words = pass_rates(list(answers), "ru", load_identifier(None), {"weather"})[1]
    assert words[3] == 1.0  # `because` is not among these words
    assert pass_rates([RUSSIAN, GREEK], "el", load_identifier(None))[0] == (0.0, 1.0)


def test_in_latin_letters_words_are_not_judged() -> None:
    found = pass_rates([GERMAN, ENGLISH, f"{GERMAN} because"], "de", load_identifier(None))
    assert found == ((1.0, 0.0, 1.0), (None, None, None))


def test_without_spaces_two_characters_are_a_word() -> None:
    identifier = load_identifier(None)
    long, short = "今天早上我们沿着河边散步了很久", "今天早上我们"
    assert pass_rates([long, short], "zh", identifier)[0] == (1.0, None)


def test_prompts_are_of_files_or_the_beginnings_of_texts(tmp_path: Path) -> None:
    folder = tmp_path / "language-confusion"
    folder.mkdir()
    (folder / "rus_Cyrl.csv").write_text(f"prompt,source\n{RUSSIAN},own\n{RUSSIAN[::-1]},own\n")
    (folder / "de.jsonl").write_text(f"{json.dumps({'prompt': GERMAN})}\n{{broken\n")
    texts = {"own": {"el": [Document("1", "el", f"{GREEK} {GREEK}\n" * 9, "g", "x")]}}
    faults: list[ItemFault] = []
    options = {"limit": 1, "identifier": None, "faults": faults}
    tasks = confusion_tasks(None, [tmp_path], texts, **options)
    assert {lang: len(task.prompts) for lang, task in tasks.items()} == {"de": 1, "ru": 1}
    assert [fault.reason for fault in faults] == ["not JSON"]
    assert tasks["ru"].prompts[0].text == RUSSIAN
    tasks = confusion_tasks(["el"], [], texts, **options)
    (prompt,) = tasks["el"].prompts
    assert 80 < len(prompt.text) <= 100
    assert f"{GREEK} {GREEK}".startswith(prompt.text)
    assert tasks["el"].fingerprint(0) != confusion_tasks(["ru"], [tmp_path], {}, **options)[
        "ru"
    ].fingerprint(0)
    with pytest.raises(UserError, match="knows none of qaa"):
        confusion_tasks(None, [], {"own": {"qaa": texts["own"]["el"]}}, **options)
    script = {"own": {"hi-Latn": texts["own"]["el"], **texts["own"]}}
    assert [*confusion_tasks(None, [], script, **options)] == ["el"]
    assert (faults[-1].place, faults[-1].reason) == (
        "`hi-Latn`",
        "a language that is not identified",
    )
    with pytest.raises(UserError, match="has no prompts"):
        confusion_tasks(None, [], {}, **options)
    with pytest.raises(UserError, match="has no prompts in tr") as caught:
        confusion_tasks(["tr"], [], texts, **options)
    assert caught.value.hint == "there are some in el"


def test_a_prompt_that_is_too_long_loses_whole_characters_at_its_beginning(house: Path) -> None:
    model = open_model(str(house / "models/e0"), house)
    assert model.context == 96
    assert len(model.encode(RUSSIAN)) > 96
    texts = [RUSSIAN + "x" * count for count in range(4)]  # cut at both bytes of a letter
    prompts = tuple(Document(text, "ru", text, text, "x") for text in texts)
    for prompt in prompts:
        scores = score_confusion(model, ConfusionTask("ru", (prompt,), None))
        shown = scores.example.partition("|")[0]
        assert prompt.text.endswith(shown)
        assert 44 < len(model.encode(shown)) <= 48


def test_models_are_compared_by_their_answers(
    house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "language-confusion").mkdir()
    for lang, text in {"en": "the ban of a mal is", "de": "an art and so on we go"}.items():
        rows = [{"prompt": f"{text} {number}"} for number in range(12)]
        file = tmp_path / f"language-confusion/{lang}.jsonl"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.chdir(house)
    words = ["models/e0", "small/small@tfidf:2", "--tasks", "language-confusion"]
    words += ["--data", str(tmp_path), "--name", "confused", "--json"]
    done = CliRunner().invoke(command, ["evaluate", *words])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    tasks = found["tasks"]
    judged = tasks["language-confusion judged"]["accuracies"]["models/e0"]
    assert {lang: of["items"] for lang, of in judged.items()} == {"en": 12, "de": 12}
    scores = tasks.get("language-confusion line pass rate", {"accuracies": {"models/e0": {}}})
    for lang in {"en", "de"} - scores["accuracies"]["models/e0"].keys():
        assert any(f"line pass rate in `{lang}`: no " in line for line in found["left_out"])
    assert "language-confusion word pass rate" not in tasks
    assert "word pass rate" not in str(found["left_out"])  # of no language in Latin letters
