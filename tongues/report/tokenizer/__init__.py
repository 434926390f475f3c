"""The page of tokenizers: what they make of each language, and whether to extend one."""

from tongues.report.tokenizer.view import write_tokenizer_report

__all__ = ["write_tokenizer_report"]
