"""Task files: what is read, and what is said of what is wrong."""

import json
from pathlib import Path

import pytest

from tongues.errors import UserError
from tongues.evaluate.tasks import TASKS, load_task, read_items

TEN_LINES = """\
name: weather
prompt: "{observed}. Tomorrow it will"
choices: ["be {options.dry}", "{options.wet}"]
label: came
labels: [dry, wet]
translated:
  de:
    prompt: "{observed}. Morgen wird es"
    choices: ["{options.dry}", "{options.wet}"]
"""
ROW = {"observed": "The swallows fly low", "options": {"dry": "dry", "wet": "rain"}, "came": "wet"}

# What the data sets on the hub hold, a row each, and what lm-eval 0.4.13 makes of it.
ROWS = {
    "xnli": {"premise": "It rains.", "hypothesis": "It is wet.", "label": 0},
    "paws-x": {"id": 7, "sentence1": "A met B .", "sentence2": "B met A .", "label": 1},
    "xcopa": {
        "premise": "The man turned on the faucet.",
        "choice1": "The toilet filled with water.",
        "choice2": "Water flowed from the spout.",
        "question": "effect",
        "label": 1,
        "idx": 0,
        "changed": False,
    },
    "xstorycloze": {
        "story_id": "x",
        **{f"input_sentence_{n}": f"This is {n}." for n in (1, 2, 3, 4)},
        "sentence_quiz1": "One.",
        "sentence_quiz2": "Two.",
        "answer_right_ending": 2,
    },
    "piqa": {"goal": "Boil an egg", "sol1": "in water", "sol2": "in sand", "label": 0},
    "hellaswag": {
        "ind": 4,
        "source_id": "activitynet~v_a",
        "activity_label": "Roof",
        "ctx_a": "A man sits [step] on a roof.",
        "ctx_b": "he",
        "endings": ["sings  [title] Up.", "[x] eats", "is a ski", "falls."],
        "label": "3",
    },
    "winogrande": {
        "sentence": "Sarah beat Maria since _ was better.",
        "option1": "Sarah",
        "option2": "Maria",
        "answer": "1",
    },
    "belebele": {
        "flores_passage": "It is red.",
        "question": " Which colour? ",
        **{f"mc_answer{n}": f"a{n}" for n in (1, 2, 3, 4)},
        "correct_answer_num": "3",
    },
}
ROWS["xwinograd"] = ROWS["winogrande"]
MADE = {
    "xnli": (["It rains., right?"], ["Yes, It is wet.", "Also, It is wet.", "No, It is wet."], 0),
    "paws-x": (["A met B ., right?"], ["No, B met A .", "Yes, B met A ."], 1),
    "xcopa": (
        ["The man turned on the faucet therefore"],
        ["the toilet filled with water.", "water flowed from the spout."],
        1,
    ),
    "xstorycloze": (["This is 1. This is 2. This is 3. This is 4."], ["One.", "Two."], 1),
    "piqa": (["Question: Boil an egg\nAnswer:"], ["in water", "in sand"], 0),
    "hellaswag": (
        ["Roof: A man sits on a roof. He"],
        ["sings . Up.", " eats", "is a ski", "falls."],
        3,
    ),
    "winogrande": (
        ["Sarah beat Maria since Sarah", "Sarah beat Maria since Maria"],
        ["was better."],
        0,
    ),
    "belebele": (
        ["P: It is red.\nQ: Which colour?\nA: a1\nB: a2\nC: a3\nD: a4\nAnswer:"],
        ["A", "B", "C", "D"],
        2,
    ),
}
MADE["xwinograd"] = MADE["winogrande"]


def written(folder: Path, text: str, rows: list[dict[str, object]]) -> tuple[Path, Path]:
    (folder / "weather.yaml").write_text(text, encoding="utf-8")
    data = folder / "en.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "weather.yaml", data


def test_a_task_is_a_file_of_ten_lines(tmp_path: Path) -> None:
    path, data = written(tmp_path, TEN_LINES, [ROW])
    assert len(TEN_LINES.splitlines()) <= 10
    [item] = read_items(load_task(path), "en", data).items
    assert item.prompts == ("The swallows fly low. Tomorrow it will",) * 2
    assert (item.endings, item.label) == (("be dry", "rain"), 1)
    [item] = read_items(load_task(path), "de", data, templates="translated").items
    assert item.shown(" ") == "The swallows fly low. Morgen wird es rain"


def test_the_library_holds_what_it_says() -> None:
    assert set(TASKS.names()) == set(ROWS) == set(MADE)
    assert all(load_task(task.name).name == task.name and task.summary for task in TASKS)


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_the_hub_become_the_prompts_of_lm_eval(tmp_path: Path, name: str) -> None:
    file = tmp_path / "en.jsonl"
    file.write_text(json.dumps(ROWS[name]) + "\n")
    [item] = read_items(load_task(name), "en", file).items
    prompts, endings, label = MADE[name]
    assert list(dict.fromkeys(item.prompts)) == prompts
    assert list(dict.fromkeys(item.endings)) == endings
    assert item.label == label


@pytest.mark.parametrize("name", ["xnli", "paws-x", "xcopa"])
def test_translated_templates_fill_as_the_english_ones_do(tmp_path: Path, name: str) -> None:
    file = tmp_path / "en.jsonl"
    file.write_text(json.dumps(ROWS[name]) + "\n")
    task = load_task(name)
    assert set(task.translated) == set(task.languages) - {"en"}
    [english] = read_items(task, "en", file, templates="translated").items
    for language in task.translated:
        [item] = read_items(task, language, file, templates="translated").items
        assert len(set(item.endings)) == len(english.endings)
        assert (item.id, item.label) == (english.id, english.label)
        assert item.prompts != english.prompts


@pytest.mark.parametrize(
    ("old", "new", "where", "says"),
    [
        ("name:", "nam:", "weather.yaml:1: nam", "did you mean `name`?"),
        ("weather", "the weather", "weather.yaml:1: name", "letters, digits"),
        ("{observed}. To", "{observed|stripp}. To", "", "did you mean `strip`?"),
        ("{observed}. To", "{observed. To", "", "without its other half"),
        ("{observed}. To", "{|strip}. To", "", "without a name"),
        ("{observed}. To", "{observed|before}. To", "", "needs a mark"),
        ("{observed}. Mo", "{observed|open|worse}. Mo", "", "not a filter or table"),
        ('["be {options.dry}", "{options.wet}"]', '["{options.dry}"]', "", "two of them or more"),
        ("labels: [dry, wet]", "labels: [dry]", "", "1 values for 2 choices"),
        ("labels: [dry, wet]", "normalisation: tokens", ":5: normalisation", "`token`"),
        ("labels: [dry, wet]", 'replace: {"[": ""}', "", "not a regular expression"),
        ("labels: [dry, wet]", "files: {items: one.jsonl}", "files.items", "not a path in a"),
        ("labels: [dry, wet]", 'files: {items: "/{language}"}', "files.items", "not a path in a"),
        ("    prompt:", "    promt:", "translated.de.promt", "did you mean `prompt`?"),
    ],
)
def test_mistakes_in_a_task_are_told_where_they_stand(
    tmp_path: Path, old: str, new: str, where: str, says: str
) -> None:
    assert old in TEN_LINES
    path, _ = written(tmp_path, TEN_LINES.replace(old, new, 1), [])
    with pytest.raises(UserError) as caught:
        load_task(path)
    assert where in caught.value.where
    assert says in str(caught.value)


def test_several_prompts_with_several_choices_are_refused(tmp_path: Path) -> None:
    text = TEN_LINES.replace('"{observed}. Tomorrow it will"', '["{observed}", "No {observed}"]')
    path, _ = written(tmp_path, text, [])
    with pytest.raises(UserError, match="not both"):
        load_task(path)


def test_what_is_not_there_is_told_with_what_is(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean `xcopa`"):
        load_task("xcopr")
    with pytest.raises(UserError, match="no such task"):
        load_task(tmp_path / "mine.yaml")
    with pytest.raises(UserError, match="has no templates in `fr`; there are `de`"):
        load_task(written(tmp_path, TEN_LINES, [])[0]).prompt_template("fr", "translated")
    with pytest.raises(UserError, match="has no items in `de`"):
        load_task("xcopa").hub_name("de")
    assert load_task("xwinograd").hub_name("ja") == "jp"
