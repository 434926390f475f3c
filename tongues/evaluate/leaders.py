"""Which models share the first place, since nothing tells them from the best."""

from collections.abc import Callable, Mapping

from tongues.evaluate.significance import Difference, holm

__all__ = ["leaders"]


def leaders(
    scores: Mapping[str, float],
    compare: Callable[[str, str], Difference],
    *,
    lower_wins: bool = False,
) -> list[str]:
    """The best model, and those that cannot be told from it, allowing for how many there are.

    compare: gives the difference of two models by name.
    """
    best = (min if lower_wins else max)(scores, key=lambda name: scores[name])
    beside = holm({name: compare(name, best) for name in scores if name != best})
    return [name for name in scores if name == best or not beside[name].told]
