"""What models are worth: losses on text, answers to tasks, and which models differ significantly.

Without torch: `evaluation`, `losses`, `comparing`, and `tasks` but for its `score`.
"""

from tongues.evaluate.tasks import TASKS, load_task

__all__ = ["TASKS", "load_task"]
