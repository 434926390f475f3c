import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.records import make_run
from tests.report.pages import Page
from tongues.core.errors import UserError
from tongues.core.estimate import Estimate
from tongues.core.files import only_one, read_json, write_json
from tongues.core.pages import page_as_html, write_page
from tongues.core.pages.blocks import Page as StudyPage
from tongues.recipe import MixtureRule
from tongues.report.answer import advice, unmeasured
from tongues.report.study import runs_page, study_page
from tongues.runs.record import DerivedMixture, find_runs, read_run, run_rows, write_run
from tongues.runs.states import state_of
from tongues.train.mixture import derive_shares
from tongues.train.study.findings import Findings, findings


@pytest.fixture
def bare(long_findings: Findings) -> Findings:
    """Runs alone, of which pages are made at once."""
    return replace(long_findings, outcomes=(), laws=(), compared={})


@pytest.fixture(scope="module")
def made_page(made_study: Path, made_findings: Findings) -> StudyPage:
    """As `runs_page` has it, of findings that are there already."""
    return study_page(made_findings, [read_run(run) for run in find_runs([made_study])])


@pytest.fixture(scope="module")
def page(made_page: StudyPage) -> Page:
    return Page(page_as_html(made_page))


def test_page_says_what_was_found(page: Page, made_study: Path):
    words = page.said
    assert words.startswith("From home to near and Fataleka")
    assert "56 runs · 4 sizes, 0.1M to 0.6M · 2 seeds · up to 2M tokens · replay 0 %, 20 %" in words
    opening = ("Tokens saved by CPT", "near: take CPT", "What replay keeps", "tokens saved, %")
    places = [words.index(each) for each in opening]
    assert places == sorted(places)
    assert "torch 2.13.0" in words
    last = run_rows([made_study])[-1]
    assert f"{last['loss']:.3f}" in words
    assert "Fitting errors" in words


def test_long_runs_and_long_bases_are_told_apart(long_findings: Findings):
    words = Page(page_as_html(study_page(long_findings))).said
    assert "Laws of near and far are fitted on final losses alone" in words
    assert "tokens before" in words  # a column of the runs


def test_numbers_are_there_for_programs(made_page: StudyPage):
    numbers = json.loads(json.dumps(dict(made_page.numbers)))
    assert numbers["laws_by_final_losses"] == {"near": False, "far": False}
    near = numbers["outcomes"][1]
    assert (near["target"], near["strategy"], near["replay"]) == ("near", "cpt", 0.0)
    assert (near["saved"]["n"], near["pairs"], near["runs"]) == (8, 8, 8)
    assert near["saved"]["value"] == pytest.approx(0.44, abs=0.03)
    assert set(numbers["laws"]["near"]) == {"scratch", "cpt"}
    assert numbers["advice"][0].startswith("**`near`:** take CPT")
    assert near["rises"]["home"]["nats"]["n"] == 8


def test_a_report_has_all_its_files_and_replaces_a_report_and_nothing_else(
    make_study: Callable[..., Path], tmp_path: Path
):
    place = make_study(tmp_path / "runs", shapes=("0.1M",), seeds=(1,), targets=("near",))
    told: list[str] = []
    out = tmp_path / "report"
    found = runs_page([place], told.append)
    first = write_page(found, out, told.append)
    assert told[0] == "reading runs"
    assert told[-1] == "writing the page"
    text = first.read_text()
    page = Page(text)
    assert not page.open and page.loads
    assert all((out / place).is_file() for place in page.loads)
    assert not re.search(r"@import|url\(", text.split("</style>")[0])
    drawing = re.search(r'id="drawing">(.*?)</script>', text)
    assert drawing and len(json.loads(drawing[1])["panels"]) == text.count('<div class="panel">')
    names = re.findall(r'<figure id="([^"]+)">', text)
    assert len(names) > 2
    for name in names:
        figure = out / "figures" / name
        assert "<svg" in figure.with_suffix(".svg").read_text()
        assert figure.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
        assert len(list(csv.DictReader(figure.with_suffix(".csv").open()))) >= 8
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    (out / "figures" / "stray.svg").touch()
    write_page(runs_page([place], print), out)
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    (out / "report.json").unlink()
    with pytest.raises(UserError, match="not empty and no report"):
        write_page(found, out)
    assert first.is_file()


def test_names_from_outside_are_only_text(make_study: Callable[..., Path], tmp_path: Path):
    place = make_study(tmp_path / "runs", shapes=("0.1M",), seeds=(1,), targets=("near",))
    evil = "</script><script>alert(1)</script>"
    for directory in find_runs([place]):
        run = replace(read_run(directory), settings={"note": evil})
        write_run(directory, replace(run, targets=(evil,)) if run.targets == ("near",) else run)
        lines = (directory / "evals.jsonl").read_text()
        (directory / "evals.jsonl").write_text(lines.replace('"near"', json.dumps(evil)))
    text = page_as_html(runs_page([place], print))
    assert "<script>alert" not in text
    assert not Page(text).open


def test_unfinished_runs_are_forecast_apart(made_study: Path, bare: Findings) -> None:
    (directory, *_) = find_runs([made_study])
    forecast = Estimate(3.25, 3.125, 3.375, "nats/token", 4)
    running = replace(state_of(directory), run="made/long", state="running", step=40, steps=100)
    ahead = [replace(running, forecast=forecast), running]
    page = study_page(bare, states=ahead)
    words = Page(page_as_html(page)).said
    assert "Runs that have not finished" in words
    assert words.count("made/long") == 1  # the other has no forecast
    assert "40 of 100" in words and "3.250[3.125, 3.375]" in words.replace("3.250 [", "3.250[")
    assert page.numbers["forecasts"]["made/long"]["low"] == 3.125
    assert "not finished" not in Page(page_as_html(study_page(bare))).said


def test_shares_that_follow_from_a_rule_are_shown(bare: Findings) -> None:
    texts = {"near": (1e5, 4e5), "far": (1e4, 4e4)}
    rule = MixtureRule(max_epochs=4.0)
    made: DerivedMixture = {
        "rule": rule.model_dump(mode="json"),
        "languages": derive_shares(rule, ["near", "far"], texts, 1e5),
    }
    page = study_page(bare, [make_run(run="made/long", mixture=made)])
    words = Page(page_as_html(page)).said
    assert "equal amounts of content (UniMax), at most 4 epochs of each language" in words
    assert "60.00%" in words and "40.00%" in words and "4.00" in words


def test_a_stopped_run_is_told_how_it_goes_on(
    make_study: Callable[..., Path], tmp_path: Path
) -> None:
    few: Any = {"shapes": ("0.1M",), "seeds": (1,), "targets": ("near",)}
    made = make_study(tmp_path / "made", strategies=("scratch",), **few)
    run = tmp_path / "runs/cc"
    next(iter(find_runs([made]))).rename(run.parent.parent / "moved")
    run.parent.mkdir()
    (tmp_path / "moved").rename(run)
    write_json(run / "run.json", read_json(run / "run.json") | {"status": "running"})
    with pytest.raises(UserError, match=r"no finished run to report on: .* is stopped") as caught:
        runs_page([run], print)
    assert caught.value.hint == "`tongues next` names the command that resumes it"
    with only_one(run), pytest.raises(UserError, match="is running at") as caught:
        runs_page([run], print)
    assert caught.value.hint.startswith(f"wait until it is finished; `tongues ls {run}` shows")


def test_one_run_from_scratch_has_a_page(make_study: Callable[..., Path], tmp_path: Path) -> None:
    place = make_study(tmp_path / "runs", shapes=("0.1M",), seeds=(1,), targets=("near",))
    (alone,) = [
        directory for directory in find_runs([place]) if read_run(directory).strategy == "scratch"
    ]  # no language of a base is known
    words = Page(page_as_html(runs_page([alone], print))).said
    assert "1 run" in words


def test_a_run_of_two_languages_counts_once_and_its_base_is_no_target(
    make_study: Callable[..., Path], tmp_path: Path
) -> None:
    few = {"shapes": ("0.1M",), "seeds": (1,), "targets": ("near",)}
    rows = run_rows([make_study(tmp_path, **few)])
    scratch = [row | {"target": "home"} for row in rows if row["strategy"] == "scratch"]
    base = [row | {"lang": "home"} for row in scratch if row["lang"] == "near"]
    both = [row | {"target": "near+more"} for row in rows if row["strategy"] == "cpt"]
    more = [row | {"lang": "more"} for row in both if row["lang"] == "near"]
    known = findings([*base, *both, *more])
    words = Page(page_as_html(study_page(known))).said
    assert words.startswith("From home to near and more")
    assert "3 runs · 1 size" in words
    assert [line.partition(":")[0] for line in advice(known)] == [
        "**`more (with near)`",
        "**`near (with more)`",
    ]
    assert "fitted" not in words  # of one run each there is no law
    assert "95 %" not in words  # nor an interval
    assert words.count("near and more") == 2 + 2  # in the title, and a row for each run
    assert "A pair is a CPT run" not in words  # there is none


def test_where_the_base_had_all_it_is_said_once_that_savings_are_unknown(saturated: Findings):
    text = "How much CPT saves on `far` and `near` is not known: in all 6 pairs the base began"
    assert unmeasured(saturated).startswith(text)
    assert not any("saved" in sentence for sentence in advice(saturated))
    body = page_as_html(study_page(saturated))
    assert 0 < body.index("How much CPT saves on") < body.index("Two ways to a model")
    assert body.count("How much CPT saves on") == 1
    assert "Tokens saved versus scratch" not in body and "tokens saved, %" not in body
