"""Units of an evaluation on disk, and scored by several processes, none twice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluate.conftest import write_asked
from tongues.core.launch import Local, Options
from tongues.core.ranks import Rank
from tongues.evaluate.losses import Policy
from tongues.evaluate.runner import (
    EvalSpec,
    Unit,
    evaluate,
    read_unit,
    score_in_ranks,
    score_share,
    write_unit,
)
from tongues.evaluate.tasks import ItemFault
from tongues.evaluate.tasks.score import Answers
from tongues.text import Document
from tongues.verbs.main import command

MODELS = ["models/e0", "models/e1"]
LANGUAGES = ("qaa", "qab")
ON = ("--text", "texts", "--tasks", "parts", "--data", "items")


@pytest.fixture
def place(house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with models, a folder of texts, and a task's items."""
    (tmp_path / "models").symlink_to(house / "models")
    items = [{"said": f"the {n}", "one": "a", "other": "the end", "label": 0} for n in range(5)]
    for lang in LANGUAGES:
        write_asked(tmp_path, [f"the end of {lang}"], items, lang)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ask(place: Path) -> Callable[..., Result]:
    return lambda *words: CliRunner().invoke(command, ["evaluate", *MODELS, *words])


def units(place: Path, name: str) -> dict[str, Any]:
    folder = place / "evaluations" / name / "units"
    return {str(f.relative_to(folder)): json.loads(f.read_text()) for f in folder.rglob("*.json")}


def asked_of(languages: tuple[str, ...]) -> EvalSpec:
    documents = {
        lang: [Document("1", lang, f"the end of {lang}", "1", "here")] for lang in languages
    }
    return EvalSpec(texts={"texts": documents}, policy=Policy())


def test_ranks_leave_the_units_of_one_process(place: Path, ask: Callable[..., Result]) -> None:
    alone = ask(*ON, "--name", "alone")
    apart = ask(*ON, "--name", "apart", "--ranks", "2")
    assert apart.exit_code == 0, apart.output
    assert len(units(place, "alone")) == 8
    assert units(place, "apart") == units(place, "alone")
    assert alone.stdout.splitlines()[:-1] == apart.stdout.splitlines()[:-1]
    assert not (place / "evaluations/apart/ranks").exists()


def test_each_unit_is_scored_by_one_rank(place: Path) -> None:
    done = []
    for number in range(3):
        folder, rank = place / "evaluations" / str(number), Rank(number, 3)
        given = (MODELS, asked_of(LANGUAGES), place, folder, None, 1)
        score_share(rank, lambda line: None, *given)
        done += units(place, str(number))
    assert len(done) == len(set(done)) == 4


def test_progress_counts_what_is_read(place: Path) -> None:
    shown: list[tuple[float, tuple[str, ...]]] = []
    folder = place / "evaluations" / "shown"
    given = (MODELS, asked_of(LANGUAGES), place, folder)
    evaluate(*given, watch=lambda share, *words: shown.append((share, words)))
    shares = [share for share, _ in shown]
    assert shares == sorted(shares) and shares[-1] == 1.0
    read = [(share, words) for share, words in shown if "has read" in " ".join(words)]
    assert [share for share, _ in read] == [0.25, 0.5, 0.75, 1.0]  # models and languages
    assert read[0][1][1].endswith("has read 1 of 1 texts")


def test_what_a_rank_cannot_score_is_left_to_the_whole(place: Path) -> None:
    told: list[str] = []
    launcher, folder = Local(Options(2)), place / "evaluations" / "wide"
    asked = EvalSpec(texts=asked_of(LANGUAGES).texts, policy=Policy(97))
    score_in_ranks(MODELS, asked, place, folder, ranks=2, launcher=launcher, tell=told.append)
    assert len(told) == 4 and all("longer than" in line for line in told)
    assert not units(place, "wide")


UNIT = Unit("study/fr-cpt", "xcopa", "fr", 8, 2)
ANSWERS = Answers((), (ItemFault("here", "line 1", "not JSON", "{"),))


def test_what_is_kept_is_read_again_and_only_as_it_was_made(tmp_path: Path) -> None:
    write_unit(tmp_path, UNIT, "one", ANSWERS)
    assert read_unit(tmp_path, UNIT, "one") == ANSWERS
    assert read_unit(tmp_path, UNIT, "other") is None
    for kept in ('{"fingerprint": "on', '{"fingerprint": "one", "result": {"gone": 1}}'):
        UNIT.path(tmp_path).write_text(kept)
        assert read_unit(tmp_path, UNIT, "one") is None


@given(st.text(min_size=1), st.text(min_size=1))
def test_names_are_files_of_their_own_inside_the_folder(one: str, other: str) -> None:
    folder = Path("/evaluation")
    first, second = (Unit(name, "text", "fr").path(folder) for name in (one, other))
    assert first.is_relative_to(folder / "units")
    assert ".." not in first.parts
    assert len(first.relative_to(folder).parts) == 4
    assert (first == second) == (one == other)
