"""Models used: exported for others, and served."""

__all__ = []
