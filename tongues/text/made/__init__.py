"""Families of small made languages that speak about one made-up world."""

from tongues.text.made.family import Drift, make_family, shared_order, shared_words
from tongues.text.made.language import Language, documents, parallel
from tongues.text.made.world import World

__all__ = ["Drift", "Language", "World", "documents", "make_family", "parallel"]
__all__ += ["shared_order", "shared_words"]
