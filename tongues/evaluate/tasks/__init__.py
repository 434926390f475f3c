"""Tasks of several choices: what is asked, in which words, and how answers are compared.

What brings torch is imported by name where it is needed: `score`.
"""

from tongues.evaluate.tasks.exams import Exam, is_task, joined_exams, set_exam, set_exams
from tongues.evaluate.tasks.items import (
    Item,
    ItemFault,
    ItemScore,
    Unfitting,
    correct,
    count_faults,
    find_languages,
    read_items,
)
from tongues.evaluate.tasks.task import NORMALISATIONS, TASKS, Normalisation, Task, load_task

__all__ = ["NORMALISATIONS", "TASKS", "Exam", "Item", "ItemFault", "ItemScore", "Normalisation"]
__all__ += ["Task", "Unfitting", "correct", "count_faults", "find_languages", "is_task"]
__all__ += ["joined_exams", "load_task", "read_items", "set_exam", "set_exams"]
