"""The words about experts, by name."""

from tongues.core.beside import read_beside

WORDS: dict[str, str] = read_beside(__file__)
