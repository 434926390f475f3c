"""The words of an evaluation while it runs, by name."""

from tongues.core.beside import read_beside

WORDS: dict[str, str] = read_beside(__file__)
