"""Language experts: partitions of the text, an expert for each cluster, and ensembles of them."""

__all__ = []
