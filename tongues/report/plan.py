"""The page of a plan: what to train, what it costs, and how sure that is."""

from pathlib import Path

from tongues.pages import blocks as b
from tongues.pages import write_page
from tongues.plan import Plan
from tongues.plan.figures import plan_figures

__all__ = ["plan_answer", "write_plan_report"]


def write_plan_report(plan: Plan, out: Path) -> Path:
    """Write the page of a plan to `out`; returns its `index.html`.

    An earlier report at `out` is replaced, any other filled folder refused.
    """
    page = b.Page("What to train", [*plan_answer(plan), *plan_figures(plan)], numbers=plan.to_json())
    return write_page(page, out)


def plan_answer(plan: Plan) -> list[b.Block]:
    """The options in a table, and the sentences of the terminal by topic; all caveats are folded."""
    topics: dict[str, list[str]] = {}
    for line in plan.sentences():
        topic, _, sentence = line.partition(": ")
        topics.setdefault(topic.capitalize(), []).append(sentence)
    taken = plan.recommendation
    cards = [b.Card(value, name, "") for name, value in plan.rows()[0].items()]
    blocks: list[b.Block] = [b.Topics({"Advice": [b.Items(topics.pop("Advice"))]})]
    blocks.append(b.Section("options", "Options", [b.Table.of(plan.rows())]))
    blocks.append(b.Topics({name: [b.Items(lines)] for name, lines in topics.items()}))
    return blocks
