"""The pages of language experts and of partitions."""

__all__ = []
