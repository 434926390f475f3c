"""The page of a plan: what to train, what it costs, and how sure that is."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tongues.pages import blocks as b
from tongues.pages import write_page
from tongues.plan import Plan
from tongues.plan.figures import plan_figures

__all__ = ["plan_answer", "write_plan_report"]

_CARDS = ("loss", "bits/byte", "parameters", "tokens", "hours", "US$", "FLOPs")
_TOPICS = {"Advice": "Advice", "How sure": "Certainty", "Replay": "Replay", "Unspent": "Unspent"}


def write_plan_report(plan: Plan, out: Path) -> Path:
    """Write the page of a plan to `out`; returns its `index.html`."""
    blocks = [*plan_answer(plan), *plan_figures(plan)]
    return write_page(b.Page("What to train", blocks, numbers=plan.to_json()), out)


def plan_answer(plan: Plan, more: Mapping[str, Sequence[str]] | None = None) -> list[b.Block]:
    """What the option to take comes to, the advice, all options, and what supports them.

    more: sentences by topic that come right after the advice.
    """
    lines: dict[str, list[str]] = {}
    for line in plan.sentences():
        topic, _, sentence = line.partition(": ")
        lines.setdefault(topic.capitalize(), []).append(sentence[0].upper() + sentence[1:])
    first = {_TOPICS[topic]: lines.pop(topic) for topic in _TOPICS if topic in lines}
    rows = plan.rows()
    taken = next(row for row in rows if row[""].strip())
    values = {
        name: taken[name].replace("e+", "e").partition(" [") for name in _CARDS if taken.get(name)
    }
    cards = [b.Card(x, f"[{ends}" if ends else "", name) for name, (x, _, ends) in values.items()]
    lines["Caveats"] = [
        f"{caution.sentence[0].upper()}{caution.sentence[1:]}." for caution in plan.warnings
    ]
    return [
        b.Cards(cards),
        b.Topics.of(first | dict(more or {})),
        b.Section("options", "Options", [b.Table.of(rows)]),
        b.Topics.of(lines),
    ]
