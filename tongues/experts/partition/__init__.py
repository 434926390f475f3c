"""How the text of several languages is divided among experts."""

from tongues.experts.partition.methods import PARTITIONS, ClusterSettings, Method, Source

__all__ = ["PARTITIONS", "ClusterSettings", "Method", "Source"]
