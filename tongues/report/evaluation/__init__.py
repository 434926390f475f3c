"""The page of an evaluation, its tables in the terminal, and its part of a model's card."""

__all__ = []
