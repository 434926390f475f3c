"""The words about a recipe that was checked, as templates in `words.toml`."""

from tongues.core.beside import read_beside

CHECKED = read_beside(__file__)
