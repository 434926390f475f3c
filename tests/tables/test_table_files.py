"""Tables from every kind of file, and what is said of files that are none."""

import csv
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden import cases, golden, inputs
from tests.records import BASE, make_run
from tongues.core.errors import UserError
from tongues.runs import record as runs
from tongues.runs.tables import observe, read_table, select_rows

SCALING = Path(__file__).parents[2] / "../shared/data/scaling"

LANGS = ("nan", "no", "inf", "de", "null", "NA", "true", "1e5", "中文")
amounts = st.floats(1e3, 1e15)
rows_of_runs = st.lists(
    st.fixed_dictionaries(
        {
            "params": amounts,
            "tokens": st.integers(1, 10**15),
            "loss": st.none() | st.floats(0.5, 12) | st.just(float("nan")),
            "run": st.none() | st.sampled_from(["001", "None", "r, 1", 'the "best"', "a;b", "nan"]),
        }
    ),
    min_size=2,
    max_size=12,
)


def write_csv(path: Path, rows: list[dict[str, Any]], delimiter: str, encoding: str) -> None:
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.Table.from_pylist(rows), path)


def write_run(directory: Path, losses: dict[str, list[float]], status: str = "finished") -> None:
    """A run that learned `qab`, evaluated at 0, 1,000, 2,000 … tokens."""
    run = make_run(
        run=f"study/{directory.name}",
        status=status,
        strategy="cpt",
        base=BASE,
        replay={"qaa": 0.1},
        shares={"qab": 0.9, "qaa": 0.1},
    )
    directory.mkdir(parents=True)
    runs.write_run(directory, run)
    lines = [
        {"step": i, "tokens": 1000 * i, "flops": 9e9 * i, "lang": lang, "loss": loss}
        for lang, curve in losses.items()
        for i, loss in enumerate(curve)
    ]
    write_lines(directory / "evals.jsonl", lines)


@settings(deadline=None, max_examples=60)
@given(
    rows=rows_of_runs,
    lang=st.sampled_from(LANGS),
    delimiter=st.sampled_from(",;\t"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig"]),
)
def test_every_format_gives_the_same_observations(
    rows: list[dict[str, Any]],
    lang: str,
    delimiter: str,
    encoding: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("formats")
    rows = [row | {"lang": lang} for row in rows] + [
        {"params": 1e6, "tokens": 5, "loss": 3.0, "run": "whole", "lang": lang}
    ]
    write_csv(folder / "t.csv", rows, delimiter, encoding)
    write_lines(folder / "t.jsonl", rows)
    write_parquet(folder / "t.parquet", rows)
    first, *others = (
        observe(
            select_rows(read_table([folder / f"t.{kind}"]), f"lang == {lang!r}"), {}, ["N", "D"]
        )
        for kind in ("csv", "jsonl", "parquet")
    )
    assert first.langs == [lang] * len(first)
    for other in others:
        assert np.array_equal(first.loss, other.loss)
        assert np.array_equal(first.variables["N"], other.variables["N"])
        assert np.array_equal(first.variables["D"], other.variables["D"])
        assert first.langs == other.langs
        named = [[run for run in o.runs or [] if "/" not in run] for o in (first, other)]
        assert named[0] == named[1]
        assert [w.code for w in first.warnings] == [w.code for w in other.warnings]


def test_rows_know_their_physical_lines(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text('note,loss\n"two\nlines",3\n\n plain , 4 \n')
    table = read_table([path])
    assert table.places == [f"{path}:2", f"{path}:5"]
    assert table.columns == {"note": ["two\nlines", "plain"], "loss": ["3", "4"]}


def test_places_in_lines_and_parquet(tmp_path: Path) -> None:
    lines, parquet = tmp_path / "runs.jsonl", tmp_path / "runs.parquet"
    lines.write_text('{"loss": 3}\n\n{"loss": 4, "shape": {"depth": 2}}')
    write_parquet(parquet, [{"loss": 3.0}, {"loss": 4.0}])
    table = read_table([lines, parquet])
    assert table.places == [
        f"{lines}:1",
        f"{lines}:3",
        f"{parquet} row 1",
        f"{parquet} row 2",
    ]
    assert table.columns["loss"] == [3, 4, 3.0, 4.0]
    assert table.columns["shape"] == [None, "{'depth': 2}", None, None]


def test_stacked_files_miss_what_they_do_not_have(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("N,D,loss\n1,2,3\n")
    (tmp_path / "b.tsv").write_text("D\tloss\tlang\n5\t6\tnan\n")
    table = read_table([tmp_path / "a.csv", tmp_path / "b.tsv"])
    assert table.columns == {
        "N": ["1", None],
        "D": ["2", "5"],
        "loss": ["3", "6"],
        "lang": [None, "nan"],
    }


def test_run_directories_are_tables_of_their_evaluations(tmp_path: Path) -> None:
    write_run(tmp_path / "study" / "one", {"qab": [8.0, 4.0, 3.0], "qaa": [2.0, 2.5, 2.4]})
    write_run(tmp_path / "study" / "two", {"qab": [8.0]}, status="running")
    table = read_table([tmp_path])
    assert table.places[:2] == ["study/one step 0 qab", "study/one step 1 qab"]
    learned = observe(select_rows(table, "role == 'target'"), {}, ["N", "D", "C"])
    assert learned.loss.tolist() == [4.0, 3.0]
    assert learned.variables["C"].tolist() == [9e9, 1.8e10]
    assert [w.code for w in learned.warnings] == ["before_training", "mid_schedule"]
    known = observe(select_rows(table, "role == 'base'"), {}, ["D", "r", "S"])
    assert known.variables["S"].tolist() == [2.0, 2.0]
    assert known.variables["r"].tolist() == [0.1, 0.1]
    with pytest.raises(UserError, match="several_languages") as refusal:
        observe(table, {}, ["N", "D"])
    assert "role == 'target'" in refusal.value.hint


@pytest.mark.parametrize("case", cases("refused-tables"))
def test_files_that_are_no_tables(tmp_path: Path, case: str) -> None:
    name, content = json.loads(case)
    path = tmp_path / name
    path.write_bytes(content.encode("latin-1"))  # so that one is no UTF-8
    with pytest.raises(UserError) as refusal:
        read_table([path])
    golden(f"refused-tables/{case}", str(refusal.value).replace(str(tmp_path), "FOLDER"))


@settings(deadline=None, max_examples=100)
@given(
    kind=st.sampled_from(["csv", "jsonl"]),
    content=st.binary(max_size=60) | st.text('N,;"\n\r\t{}[]:1e\\u', max_size=40).map(str.encode),
)
def test_any_bytes_are_a_table_or_refused(
    kind: str, content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any.{kind}"
    path.write_bytes(content)
    try:
        table = read_table([path])
    except UserError as refusal:
        assert str(path) in refusal.where
        return
    assert len(table) > 0
    assert all(len(cells) == len(table) for cells in table.columns.values())


def test_places_that_hold_no_table(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("N,loss\n1,2\n")
    with pytest.raises(UserError, match=r"did you mean `runs\.csv`"):
        read_table([tmp_path / "rums.csv"])
    with pytest.raises(UserError, match="name the files themselves"):
        read_table([tmp_path])
    with pytest.raises(UserError, match="no table is named"):
        read_table([])


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match=r"pip install 'tongues\[text\]'"):
        read_table([tmp_path / "runs.parquet"])


def test_a_column_without_a_name_is_called_by_its_number(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",N,loss\n0,1,2\n")
    assert list(read_table([tmp_path / "t.csv"]).columns) == ["column 1", "N", "loss"]


def test_ten_thousand_rows_are_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "big.csv"
    lines = [
        f"r{i // 20},scratch,de,{1e6 + i},{i % 20 + 1}e9,{2 + 1 / (i % 20 + 1)}\n"
        for i in range(10_000)
    ]
    path.write_text("run,strategy,lang,params,tokens,loss\n" + "".join(lines))

    def seconds(work: Callable[[], object]) -> float:
        begun = time.process_time()
        work()
        return time.process_time() - begun

    assert min(seconds(lambda: read_table([path])) for _ in range(5)) < 0.1


@pytest.mark.skipif(not SCALING.is_dir(), reason="the real runs are not here")
@pytest.mark.parametrize(
    ("name", "where", "columns", "needs", "rows"),
    inputs("real-runs"),
)
def test_real_runs_are_read_without_a_doubt(
    name: str, where: str, columns: dict[str, str], needs: list[str], rows: int
) -> None:
    found = observe(select_rows(read_table([SCALING / f"{name}.csv"]), where), columns, needs)
    assert len(found) == rows
    assert not found.warnings
    assert set(found.variables) == set(needs)


def test_a_missing_table_offers_tables_and_folders_of_runs_alone(tmp_path: Path) -> None:
    for name in ("setup.py", "notes.md", "table.csv", "study/one/run.json", "other/x.bin"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(UserError, match="there is no such file") as caught:
        read_table([tmp_path / "absent.parquet"])
    assert caught.value.hint == "choose from `study`, `table.csv`"
