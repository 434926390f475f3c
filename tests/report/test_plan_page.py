from pathlib import Path

import tongues
from tests.report.pages import Page
from tongues.files import read_json
from tongues.pages import write_page
from tongues.report.plan import plan_page


def test_the_page_of_a_plan_opens_with_the_price_and_the_advice(tmp_path: Path) -> None:
    plan = tongues.plan(
        bases=["Qwen/Qwen3-4B-Base", "Qwen/Qwen3-1.7B-Base"],
        language="sw",
        gpu="h100",
        gpus=8,
        hours=24,
    )
    path = write_page(plan_page(plan), tmp_path / "page")
    page, taken = Page(path.read_text()), plan.decision.option
    assert not page.open
    row = next(row for row in plan.rows() if row[""] == "→")
    assert f"{row['hours']}hours" in page.said and f"{row['US$']}US$" in page.said
    assert page.said.index("US$") < page.said.index("Continue Qwen3-4B-Base on Swahili")
    assert page.said.index("Advice") < page.said.index("Options") < page.said.index("Why")
    options = read_json(path.with_name("report.json"))["options"]
    assert taken.cost in [option["cost"] for option in options]
    assert {figure.stem for figure in (path.parent / "figures").glob("*.svg")} == {"options"}
