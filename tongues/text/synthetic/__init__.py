"""Families of small synthetic languages, with texts about one simulated world."""

from tongues.text.synthetic.family import (
    Drift,
    check_family,
    make_family,
    shared_order,
    shared_words,
)
from tongues.text.synthetic.language import SyntheticLanguage, documents
from tongues.text.synthetic.world import World

__all__ = ["Drift", "SyntheticLanguage", "World", "check_family", "documents", "make_family"]
__all__ += ["shared_order", "shared_words"]
