"""Tasks of several choices: their items, prompts, and how answers are compared.

`score` imports torch and is therefore not imported here.
"""

from tongues.evaluate.tasks.fewshot import (
    FewShotTask,
    is_task,
    merge_tasks,
    read_fewshot_task,
    read_fewshot_tasks,
    read_named_tasks,
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
from tongues.evaluate.tasks.task import TASKS, Normalisation, Task, load_task

__all__ = ["TASKS", "FewShotTask", "Item", "ItemFault", "ItemScore"]
__all__ += ["Normalisation", "Task", "correct", "count_faults", "find_languages", "is_task"]
__all__ += ["load_task", "merge_tasks", "read_fewshot_task", "read_fewshot_tasks", "read_items"]
__all__ += ["read_named_tasks"]
