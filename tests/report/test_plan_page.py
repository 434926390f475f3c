from pathlib import Path

import tongues
from tests.report.pages import Page
from tongues.files import read_json
from tongues.pages import write_page
from tongues.report.plan import plan_page


def test_the_page_of_a_plan_opens_with_the_price_and_the_advice(tmp_path: Path) -> None:
    plan = tongues.plan("hoffmann2022-full", flops="1e21", gpu="h100", gpus=8)
    path = write_page(plan_page(plan), tmp_path / "page")
    page, taken = Page(path.read_text()), plan.recommendation.option
    assert not page.open
    row = next(row for row in plan.rows() if row[""] == "→")
    assert f"{row['hours']}hours" in page.said and f"{row['US$']}US$" in page.said
    assert page.said.index("US$") < page.said.index(plan.recommendation.why[:40])
    assert page.said.index("Advice") < page.said.index("Options") < page.said.index("Caveats")
    options = read_json(path.with_name("report.json"))["options"]
    assert taken.cost in [option["cost"] for option in options]
    assert {figure.stem for figure in (path.parent / "figures").glob("*.svg")} == {"options"}
