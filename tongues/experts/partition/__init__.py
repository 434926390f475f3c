"""How the text of several languages is divided among experts."""

__all__ = []
