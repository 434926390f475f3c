"""Tasks of several choices: what is asked, in which words, and how answers are compared.

What brings torch is imported by name where it is needed: `score`.
"""

from tongues.evaluate.tasks.choices import ItemScore, accuracy, chance, choose, correct
from tongues.evaluate.tasks.demonstrations import Exam, set_exam
from tongues.evaluate.tasks.faults import ItemFault, count_faults
from tongues.evaluate.tasks.items import Item, read_items
from tongues.evaluate.tasks.places import find_languages
from tongues.evaluate.tasks.task import (
    NORMALISATIONS,
    TASKS,
    Normalisation,
    Task,
    TaskFile,
    load_task,
)

__all__ = [
    "NORMALISATIONS",
    "TASKS",
    "Exam",
    "Item",
    "ItemFault",
    "ItemScore",
    "Normalisation",
    "Task",
    "TaskFile",
    "accuracy",
    "chance",
    "choose",
    "correct",
    "count_faults",
    "find_languages",
    "load_task",
    "read_items",
    "set_exam",
]
