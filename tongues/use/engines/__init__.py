"""Runs handed over to other trainers: a folder with base, text and settings that they read."""

from tongues.use.engines import kinds
from tongues.use.engines.engine import ENGINES
from tongues.use.engines.folder import hand_over

__all__ = ["ENGINES", "hand_over", "kinds"]
