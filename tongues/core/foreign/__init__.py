"""Folders that somebody else made: looked at, and tried, before they are used."""

__all__ = ()  # `rules` starts fast because nothing is imported here
