"""The page of a project's folder with its receipt, and the page that watches its runs."""

import json
import os
import shutil
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

import tongues
from tests.report.pages import Page
from tongues.core.errors import UserError
from tongues.core.files import read_lines, write_json
from tongues.core.quantities import show_seconds
from tongues.report.project import write_project_report
from tongues.report.project.view import curve_figure
from tongues.runs.record import Run, read_run, write_run
from tongues.train.cost import run_cost


@pytest.fixture(scope="module")
def evaluated(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a recipe, its tokens, a finished run and its evaluation."""
    folder = shutil.copytree(project, tmp_path_factory.mktemp("evaluated") / "w")
    tongues.evaluate("small", folder, text="small", limit=8, page=False, quiet=True)
    return folder


@pytest.fixture
def workspace(evaluated: Path, tmp_path: Path) -> Path:
    shutil.copytree(evaluated, tmp_path / "w")
    return tmp_path / "w"


def loss_of(workspace: Path) -> float:
    """Of the language that the run learns, from the file of the evaluation."""
    scores = json.loads((workspace / "evaluations/evaluation/scores.json").read_text())
    return scores["texts"]["small"]["losses"]["small"]["qaa"]["bits_per_byte"]["value"]


def outcome_of(workspace: Path) -> list[str]:
    page = write_project_report(workspace, workspace / "page")
    return json.loads(page.with_name("report.json").read_text())["outcome"]


def test_the_first_screen_is_outcome_next_step_and_cost(workspace: Path) -> None:
    page = tongues.report(workspace=workspace)
    assert page == workspace / "reports/project/index.html"
    written = json.loads(page.with_name("report.json").read_text())
    loss, *_, took = written["outcome"]
    assert f"{loss_of(workspace):.3f}" in loss and took.startswith("Training took: ")
    first, *_ = written["steps"]
    assert first["command"].startswith(f"tongues export small -o {workspace}/exports")
    said = Page(page.read_text()).said
    places = [said.index(x) for x in (f"{loss_of(workspace):.3f}", first["command"], "Runs")]
    assert places == sorted(places)


def test_many_runs_and_those_of_studies_are_counted_and_summed(workspace: Path) -> None:
    run = read_run(workspace / "runs/small")
    names = ("b", "c", "study/a", "study/b")
    for name in names:
        shutil.copytree(workspace / "runs/small", workspace / "runs" / name)
        write_run(workspace / "runs" / name, replace(run, run=name, fingerprint=name))
    outcome = outcome_of(workspace)
    assert outcome[0] == "Not evaluated: 2 runs; losses are below."
    assert outcome[1].startswith("qaa, bits per byte: ")
    cost = run_cost(run)
    assert cost and cost.energy and run.seconds
    took = f"Training took: {show_seconds(5 * run.seconds)}; 5 runs; "
    assert outcome[-1] == f"{took}about {5 * cost.energy:.2g} kWh"
    for name in names[1:]:
        shutil.rmtree(workspace / "runs" / name)
    outcome = outcome_of(workspace)
    assert "; 2 runs; " in outcome[-1]
    assert outcome[0] == "Not evaluated: `b`; losses are below."


def test_of_several_evaluations_each_is_named_and_what_was_not_read(workspace: Path) -> None:
    folder = shutil.copytree(workspace / "evaluations/evaluation", workspace / "evaluations/cut")
    kept = json.loads((folder / "scores.json").read_text())
    write_json(folder / "scores.json", kept | {"left_out": ["most of it"]})
    outcome = outcome_of(workspace)
    assert outcome[0] == "`cut`: most of it."
    assert outcome[1].startswith(f"cut: qaa, bits per byte: {loss_of(workspace):.3f}")


def test_where_runs_are_evaluated_the_page_of_single_runs_has_no_say(workspace: Path) -> None:
    write_json(workspace / "reports/runs/report.json", {"advice": ["take the other."]})
    assert "take the other." not in tongues.report(workspace=workspace).read_text()
    shutil.rmtree(workspace / "evaluations")
    assert "take the other." in tongues.report(workspace=workspace).read_text()


def test_losses_through_training_have_a_panel_for_each_language(workspace: Path) -> None:
    drawn = curve_figure([workspace / "runs/small"])
    assert drawn
    titles = [one.to_dict()["title"] for one in drawn.panels]
    assert titles == ["Held-out text, qaa", "Held-out text, qab", "Training text"]
    assert {row["run"] for row in drawn.rows} == {"small"}
    assert {row["lang"] for row in drawn.rows if row["text"] == "held out"} == {"qaa", "qab"}
    assert {row["series"] for row in drawn.rows} == {"scratch"}


def test_the_advice_of_a_page_older_than_its_runs_is_left_out(workspace: Path) -> None:
    shutil.copytree(workspace / "runs/small", workspace / "runs/group/small")
    advice, alone = (workspace / f"reports/{name}/report.json" for name in ("group", "small"))
    for page in (advice, alone):  # that of one run is told with the run
        page.parent.mkdir(parents=True)
        write_json(page, {"advice": ["take it."]})

    said = outcome_of(workspace)
    assert "`group`: take it." in said and "`small`: take it." not in said
    os.utime(advice, (1, 1))
    assert "`group`: its page is older than its runs." in outcome_of(workspace)


@pytest.mark.parametrize(("shift", "verdict"), [(0.0, "inside"), (1.0, "outside")])
def test_a_forecast_is_next_to_what_was_measured(
    workspace: Path, shift: float, verdict: str
) -> None:
    value = loss_of(workspace) + shift
    forecast = {"value": value, "low": value - 0.1, "high": value + 0.1}
    plan = {"date": "2026-01-02", "lines": ["It takes a day."], "bits_per_byte": forecast}
    write_json(workspace / "small.plan.json", plan)
    assert any(x.endswith(f"{verdict} the interval.") for x in outcome_of(workspace))
    assert "Plan of small, 2026-01-02" in (workspace / "page/index.html").read_text()
    write_json(workspace / "small.plan.json", [])
    write_project_report(workspace, workspace / "page")  # which says that it cannot be read


def test_only_the_weights_and_the_text_of_a_forecast_are_held_against_it(workspace: Path) -> None:
    forecast = {"value": 9.0, "low": 8.9, "high": 9.1}
    plan = {"date": "2026-01-02", "lines": ["It takes a day."], "bits_per_byte": forecast}
    write_json(workspace / "small.plan.json", plan)

    def outcome() -> str:
        return "\n".join(outcome_of(workspace))

    scores = workspace / "evaluations/evaluation/scores.json"
    kept = scores.read_text()
    other = json.loads(kept)
    other["texts"] = {"flores": other["texts"]["small"]}
    scores.write_text(json.dumps(other))
    assert "on `flores`, another text" in outcome() and "the interval" not in outcome()
    scores.write_text(kept)
    assert "outside the interval." in outcome()
    run = workspace / "runs/small"
    write_run(run, replace(read_run(run), fingerprint="trained again"))
    assert "Not evaluated: `small`" in outcome() and "measured" not in outcome()


def test_the_receipt_has_recipe_data_licence_and_cost(workspace: Path) -> None:
    folder = tongues.report(workspace=workspace).parent
    receipt = (folder / "README.md").read_text()
    assert receipt.startswith("# Project: ")
    assert (folder / "small.yaml").read_text() == (workspace / "small.yaml").read_text()
    assert "a synthetic language (seed 1)" in receipt
    assert "## Data, licence and cost of each run" in receipt
    none = "Licence of a base: none, the run began with random weights."
    assert f"{none} Licence of the text: for you to name." in receipt
    assert f"```\n{(workspace / 'runs/small/recipe.yaml').read_text()}```" in receipt
    cost = run_cost(read_run(workspace / "runs/small"))
    assert cost and cost.sentence in receipt
    tongues.export("small", workspace / "out", workspace=workspace, quiet=True)
    card = (workspace / "out/README.md").read_text()
    assert f"## Cost\n\n{cost.sentence}\n\n## Data" in card


def test_cost_is_from_time_and_machine(workspace: Path) -> None:
    def cost(run: Run, **engine: object) -> tuple[float | None, float | None]:
        made = run_cost(replace(run, seconds=7200.0, engine={"processes": 1} | engine))
        assert made and made.hours == 2
        return made.energy, made.money

    run = read_run(workspace / "runs/small")
    assert cost(run, device="cpu", threads=4) == (0.08, None)
    h100 = cost(run, device="cuda", gpu="NVIDIA H100 80GB HBM3", processes=8)
    assert h100 == pytest.approx((8 * 0.7 * 1.5 * 2, 8 * 2.5 * 2))
    assert cost(run, device="cuda", gpu="NVIDIA GH200 480GB") == pytest.approx((0.9 * 1.5 * 2, 4))
    a100 = [cost(run, device="cuda", gpu=f"NVIDIA A100-SXM4-{size}GB")[1] for size in (40, 80)]
    assert a100 == pytest.approx([2 * 1.2, 2 * 1.6])
    assert cost(run, device="cuda") == (None, None)
    assert run_cost(replace(run, seconds=None)) is None
    told = run_cost(replace(run, seconds=7200.0, engine={"device": "cuda", "gpu": "NVIDIA H100"}))
    assert told and "rated draw, 50% more for hosts and cooling" in told.basis


def test_an_empty_folder_has_a_page_that_says_how_to_begin(tmp_path: Path) -> None:
    page = tongues.report(workspace=tmp_path)
    assert json.loads(page.with_name("report.json").read_text())["outcome"] == []
    assert "tongues new" in page.read_text()


def test_a_folder_that_is_not_there_has_no_page_and_is_not_made(tmp_path: Path) -> None:
    for look in (tongues.report, tongues.watch):
        with pytest.raises(UserError, match="is not a folder"):
            look(workspace=tmp_path / "typo")
    assert not any(tmp_path.iterdir())


def test_a_page_of_runs_follows_their_logs(workspace: Path) -> None:
    from tongues.use.serve import watch

    addresses: list[str] = []
    serve = Thread(target=watch.serve_runs, args=(workspace, 0, addresses.append), daemon=True)
    serve.start()
    while not addresses:
        serve.join(0.05)
    assert addresses[0].startswith("http://127.0.0.1:")

    def get(path: str = "", host: str = "") -> str:
        request = urllib.request.Request(
            addresses[0] + path, headers={"Host": host} if host else {}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()

    assert 'http-equiv="refresh"' in get()
    assert "smallfinished" in Page(get()).said
    ends = [row["bits_per_byte"] for row in read_lines(workspace / "runs/small/evals.jsonl")]
    assert f"qaa, bits per byte{ends[0]:.3f} → " in Page(get()).said
    assert "Finished100 %" in Page(get()).said.replace("\u00a0", " ")
    run = workspace / "runs/small"
    record = read_run(run)
    shutil.copytree(run, run.with_name("another"))
    write_run(run.with_name("another"), replace(record, run="another"))
    write_run(run, replace(record, status="running"))
    (run / "events.jsonl").write_text(json.dumps({"step": 9, "spike": "norm 12"}) + "\n")
    said = Page(get()).said
    assert said.index("smallstopped") < said.index("anotherfinished")
    assert "small: step 9: norm 12" in said
    for path, host, code in (("runs", "", 404), ("", "evil.example:80", 403)):
        with pytest.raises(urllib.error.HTTPError) as refused:
            get(path, host)
        assert refused.value.code == code
