"""Tasks of several choices: their items, prompts, and how answers are compared.

`score` imports torch and is therefore not imported here.
"""

from tongues.evaluate.tasks import library  # noqa: F401 (registers its tasks)
from tongues.evaluate.tasks.fewshot import (
    FewShotTask,
    read_fewshot_task,
    read_fewshot_tasks,
)
from tongues.evaluate.tasks.items import (
    Item,
    ItemFault,
    ItemScore,
    correct,
    count_faults,
    find_languages,
    read_items,
)
from tongues.evaluate.tasks.task import TASKS, Normalisation, OnHub, Task

__all__ = ["TASKS", "FewShotTask", "Item", "ItemFault", "ItemScore", "Normalisation", "OnHub"]
__all__ += ["Task", "correct", "count_faults", "find_languages", "read_fewshot_task"]
__all__ += ["read_fewshot_tasks", "read_items"]
