"""Task files: what is read, and what is said of what is wrong."""

import json
from pathlib import Path

import pytest

from tests.golden import cases, golden
from tongues.errors import UserError
from tongues.evaluate.tasks import TASKS, load_task, read_items

TEN_LINES = """\
name: weather
prompt: "{observed}. Tomorrow it will"
choices: ["be {one}", "{other}"]
label: came
labels: [dry, wet]
group: "{observed}"
"""
ROW = {"observed": "The swallows fly low", "one": "dry", "other": "rain", "came": "wet"}

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
}
MADE = {
    "xnli": ("It rains., right?", ["Yes, It is wet.", "Also, It is wet.", "No, It is wet."], 0),
    "paws-x": ("A met B ., right?", ["No, B met A .", "Yes, B met A ."], 1),
    "xcopa": (
        "The man turned on the faucet therefore",
        ["the toilet filled with water.", "water flowed from the spout."],
        1,
    ),
    "xstorycloze": ("This is 1. This is 2. This is 3. This is 4.", ["One.", "Two."], 1),
}


def written(folder: Path, text: str, rows: list[dict[str, str]]) -> tuple[Path, Path]:
    (folder / "weather.yaml").write_text(text, encoding="utf-8")
    data = folder / "en.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "weather.yaml", data


def test_a_task_is_a_file_of_ten_lines(tmp_path: Path) -> None:
    path, data = written(tmp_path, TEN_LINES, [ROW])
    assert len(TEN_LINES.splitlines()) <= 10
    [item] = read_items(load_task(path), "en", data.parent).items
    assert item.prompt == "The swallows fly low. Tomorrow it will"
    assert (item.endings, item.label) == (("be dry", "rain"), 1)
    assert item.shown(" ") == "The swallows fly low. Tomorrow it will rain"


def test_the_library_holds_what_it_says() -> None:
    assert set(TASKS.names()) == set(ROWS) == set(MADE)
    assert all(load_task(task.name).name == task.name and task.summary for task in TASKS)


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_the_hub_become_the_prompts_of_lm_eval(tmp_path: Path, name: str) -> None:
    file = tmp_path / "en.jsonl"
    file.write_text(json.dumps(ROWS[name]) + "\n")
    [item] = read_items(load_task(name), "en", file.parent).items
    assert (item.prompt, [*item.endings], item.label) == MADE[name]


@pytest.mark.parametrize("case", cases("refused-tasks"))
def test_mistakes_in_a_task_are_told_where_they_stand(tmp_path: Path, case: str) -> None:
    old, new = json.loads(case)
    assert old in TEN_LINES
    path, _ = written(tmp_path, TEN_LINES.replace(old, new, 1), [])
    with pytest.raises(UserError) as caught:
        load_task(path)
    golden(f"refused-tasks/{case}", str(caught.value).replace(str(tmp_path), "FOLDER"))


def test_what_is_not_there_is_told_with_what_is(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean `xcopa`"):
        load_task("xcopr")
    with pytest.raises(UserError, match="no such task"):
        load_task(tmp_path / "mine.yaml")
