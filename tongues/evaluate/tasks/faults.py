"""Rows that are no items, and items that a model cannot be asked."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tongues.errors import UserError

__all__ = ["ItemFault", "count_faults", "stop_at"]


@dataclass(frozen=True, slots=True)
class ItemFault:
    """Something that was not scored.

    source: the file or data set. place: `line 12`, `row 12` or the item's id.
    reason: in few words that can be counted. sample: what it is about, or its beginning.
    """

    source: str
    place: str
    reason: str
    sample: str


def count_faults(faults: Sequence[ItemFault]) -> list[str]:
    """A sentence for each reason: of how many things it is told, and the first of them."""
    first: dict[str, ItemFault] = {}
    for fault in faults:
        first.setdefault(fault.reason, fault)
    things = {(fault.reason, fault.source, fault.place) for fault in faults}
    counts = Counter(reason for reason, _, _ in things)
    return [
        f"{counts[reason]} left out: {reason} (first {one.source}, {one.place}: {one.sample})"
        for reason, one in first.items()
    ]


def stop_at(fault: ItemFault, hint: str = "mend it, or go on without such items") -> UserError:
    """The error for a fault where the user chose to stop."""
    what = f"{fault.reason}: {fault.sample}" if fault.sample else fault.reason
    return UserError(what, where=f"{fault.source}, {fault.place}", hint=hint)
