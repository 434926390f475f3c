"""The small ensembles of the tests of experts."""

from tests.experts.ensemble.conftest import copies, folder, folders, tokenizer, workspace

__all__ = ["copies", "folder", "folders", "tokenizer", "workspace"]
