"""The page of a plan: what to train, what it costs, and how sure that is."""

from collections.abc import Mapping, Sequence

from tongues.pages import blocks as b
from tongues.plan import Plan
from tongues.plan.figures import plan_figures

_CARDS = ("loss", "bits/byte", "parameters", "tokens", "hours", "US$", "FLOPs")
_TOPICS = {"Advice": "Advice", "How sure": "Certainty", "Replay": "Replay", "Unspent": "Unspent"}


def plan_page(plan: Plan) -> b.Page:
    """The page of a plan."""
    return b.Page(
        "What to train", [*plan_answer(plan), *plan_figures(plan)], numbers=plan.to_json()
    )


def plan_answer(plan: Plan, more: Mapping[str, Sequence[str]] | None = None) -> list[b.Block]:
    """What the option to take comes to, the advice, all options, and what supports them.

    more: sentences by topic that come right after the advice.
    """
    lines: dict[str, list[str]] = {}
    for line in plan.sentences():
        topic, _, sentence = line.partition(": ")
        lines.setdefault(topic.capitalize(), []).append(_capital(sentence))
    first = {_TOPICS[topic]: lines.pop(topic) for topic in _TOPICS if topic in lines}
    rows = plan.rows()
    taken = next(row for row in rows if row[""].strip())
    values = {
        name: taken[name].replace("e+", "e").partition(" [") for name in _CARDS if taken.get(name)
    }
    cards = [b.Card(x, f"[{ends}" if ends else "", name) for name, (x, _, ends) in values.items()]
    lines["Caveats"] = [f"{_capital(of.sentence)}." for of in plan.warnings]
    return [
        b.Cards(cards),
        b.Topics.of(first | dict(more or {})),
        b.Section("options", "Options", [b.Table.of(rows)]),
        b.Topics.of(lines),
    ]


def _capital(sentence: str) -> str:
    """With a capital, but for a name such as `zheng2024-cpt` or `cpt:`."""
    first = sentence.split()[0]
    named = first[-1] in ":," or any(letter.isdigit() for letter in first)
    return sentence if named else sentence[0].upper() + sentence[1:]
