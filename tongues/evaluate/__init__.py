"""What models are worth: losses on text, answers to tasks, and which models differ significantly.

Without torch: `evaluation`, `losses`, `comparing`, and `tasks` but for its `score`.
"""

from tongues.evaluate.tasks import TASKS

__all__ = ["TASKS"]
