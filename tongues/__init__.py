"""Bring language models to new languages, and know beforehand what it takes."""

__all__ = ["__version__"]

__version__ = "0.1.0"
