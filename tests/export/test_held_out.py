import numpy as np

from tongues.evaluate.losses import DocumentLosses
from tongues.export.held_out import worse_than_base


def losses(**nats: float) -> dict[str, DocumentLosses]:
    """Two documents of 10 bytes for each language, of so many nats."""
    two = np.array([10, 10])
    return {
        lang: DocumentLosses(("a", "b"), np.array([each, each]), two, two, ("a", "b"), 0.0 * two)
        for lang, each in nats.items()
    }


def test_languages_that_got_worse_are_named() -> None:
    base, own = losses(de=10, en=10, sw=10, tr=10), losses(de=10.1, en=10.4, sw=11, tr=4)
    assert worse_than_base(own, base) == "It is worse than the base on de, en and sw."
    assert worse_than_base(base, base) == worse_than_base(losses(tr=4), base) == ""
