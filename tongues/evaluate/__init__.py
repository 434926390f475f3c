"""What models are worth: losses on text, answers to tasks, and which of them can be told apart.

What brings torch is imported by name where it is needed: `subjects`, `rows`, `conduct` and
`outcome`.
"""

from tongues.evaluate.exams import is_task, set_exams
from tongues.evaluate.units import Unit

__all__ = ["Unit", "is_task", "set_exams"]
