"""Tasks: what becomes of their rows, and which items are examples."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.golden import inputs
from tests.text.corpora import write_rows
from tongues.core.errors import UserError
from tongues.evaluate.tasks import TASKS, FewShotTask, read_fewshot_task, read_items

ROWS = inputs("task-rows")
MADE = inputs("task-prompts")


def test_the_library_holds_what_it_says() -> None:
    assert {task.name for task in TASKS} - {"parts"} == set(ROWS) == set(MADE)


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_the_hub_become_the_prompts_of_lm_eval(tmp_path: Path, name: str) -> None:
    write_rows(tmp_path / name / "en.jsonl", [ROWS[name]])
    [item] = read_items(TASKS.find(name), "en", tmp_path).items
    assert [item.prompt, [*item.endings], item.label] == MADE[name]


def write(file: Path, count: int, language: str) -> None:
    file.parent.mkdir(exist_ok=True)
    named = ("premise", "choice1", "choice2")
    rows = [
        {name: f"{language} {name} {n}." for name in named}
        | {"question": "cause", "label": n % 2, "idx": n}
        for n in range(count)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for language in ("en", "sw"):
        write(tmp_path / f"xcopa/{language}.jsonl", 40, language)
    return tmp_path


def fewshot(folder: Path, language: str = "sw", **named: Any) -> FewShotTask:
    return read_fewshot_task(TASKS.find("xcopa"), language, folder, **named)


def ids(items: Any) -> list[str]:
    return [item.id for item in items]


def test_the_first_shuffled_items_are_those_of_every_language_and_of_more_items(
    folder: Path,
) -> None:
    some = fewshot(folder, limit=10)
    assert ids(some.items) == ids(fewshot(folder, "en", limit=10).items)
    assert ids(fewshot(folder, limit=20).items)[:10] == ids(some.items)
    assert ids(some.items) != sorted(ids(some.items), key=int)
    assert some.demonstrations == ((),)


def test_demonstrations_taken_from_the_items_are_never_scored(folder: Path) -> None:
    asked = fewshot(folder, num_fewshot=3, fewshot_seeds=4, fewshot_language="en")
    assert len(asked.items) == 40 - 3 * 4
    assert [len(draw) for draw in asked.demonstrations] == [3] * 4
    assert len({tuple(ids(draw)) for draw in asked.demonstrations}) == 4
    assert not set(ids(asked.items)) & {i for draw in asked.demonstrations for i in ids(draw)}
    assert all(item.prompt.startswith("en") for item in asked.demonstrations[0])
    assert all(item.prompt.startswith("sw") for item in asked.items)
    own = fewshot(folder, num_fewshot=3, fewshot_seeds=4)
    assert [ids(draw) for draw in own.demonstrations] == [ids(d) for d in asked.demonstrations]
    assert own.demonstrations[0][0].prompt.startswith("sw")


def test_demonstrations_that_lie_apart_leave_every_item(folder: Path) -> None:
    write(folder / "xcopa_val/en.jsonl", 12, "val")
    asked = fewshot(folder, num_fewshot=8, fewshot_seeds=2, fewshot_language="en")
    assert len(asked.items) == 40
    assert all(item.prompt.startswith("val") for item in asked.demonstrations[1])


def test_too_few_demonstrations_are_an_error(folder: Path) -> None:
    write(folder / "xcopa_val/en.jsonl", 5, "val")
    with pytest.raises(UserError, match="8 demonstrations are needed, there are 5"):
        fewshot(folder, num_fewshot=8, fewshot_language="en")
    with pytest.raises(UserError, match="40 items, of which 8 × 5 would be demonstrations"):
        fewshot(folder, num_fewshot=8, fewshot_seeds=5)


def test_an_exam_is_known_by_what_is_asked(folder: Path) -> None:
    asked = fewshot(folder, num_fewshot=2, fewshot_seeds=2)
    prints = {asked.fingerprint(0), asked.fingerprint(1), fewshot(folder).fingerprint(0)}
    prints.add(fewshot(folder, num_fewshot=3, fewshot_seeds=2).fingerprint(0))
    assert len(prints) == 4
    assert fewshot(folder, num_fewshot=2, fewshot_seeds=2).fingerprint(1) == asked.fingerprint(1)
