"""The page of an evaluation, its tables in the terminal, and its part of a model's card."""

from tongues.report.evaluation.card import card_section, newest_scores, write_cards
from tongues.report.evaluation.view import score_blocks, write_evaluation_report

__all__ = ["card_section", "newest_scores", "score_blocks", "write_cards"]
__all__ += ["write_evaluation_report"]
