"""How the text of several languages is divided among experts."""

from tongues.experts.partition.methods import PARTITIONS, Method, Parts, Source

__all__ = ["PARTITIONS", "Method", "Parts", "Source"]
