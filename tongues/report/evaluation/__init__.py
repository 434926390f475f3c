"""The page of an evaluation, and the part of a model's card that it gives."""

from tongues.report.evaluation.card import card_section, write_cards
from tongues.report.evaluation.newest import newest_section
from tongues.report.evaluation.page import write_evaluation_report

__all__ = ["card_section", "newest_section", "write_cards", "write_evaluation_report"]
