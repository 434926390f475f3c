"""The page of a plan: what to do, what it costs, what comes out, and how sure that is."""

from tongues.pages import blocks as b
from tongues.plan import Plan


def plan_page(plan: Plan) -> b.Page:
    """The page of a plan."""
    reasons = b.Topics.of({"Why": plan.reasons()})
    return b.Page("What to train", [*plan_answer(plan), reasons], numbers=plan.to_json())


def plan_answer(plan: Plan) -> list[b.Block]:
    """The decision, and all options."""
    first, *others = plan.sentences()
    lines = {"Advice": [first]}
    for line in others:
        topic, _, sentence = line.partition(": ")
        lines.setdefault(topic.capitalize(), []).append(sentence[:1].upper() + sentence[1:])
    return [b.Topics.of(lines), b.Section("options", "Options", [b.Table.of(plan.rows())])]
