"""Families of small synthetic languages, with texts about one simulated world."""

from tongues.text.synthetic.family import Drift, make_family, shared_order, shared_words
from tongues.text.synthetic.language import SyntheticLanguage, documents, parallel
from tongues.text.synthetic.world import World

__all__ = ["Drift", "SyntheticLanguage", "World", "documents", "make_family", "parallel"]
__all__ += ["shared_order", "shared_words"]
