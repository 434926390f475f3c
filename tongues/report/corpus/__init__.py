"""The page of a corpus: what came in, what was dropped and why, and what is inside."""

from tongues.report.corpus.view import write_corpus_report

__all__ = ["write_corpus_report"]
