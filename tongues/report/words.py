"""The words of pages about runs, as templates in `words.toml`."""

from tongues.core.beside import read_beside

SAID = read_beside(__file__)
