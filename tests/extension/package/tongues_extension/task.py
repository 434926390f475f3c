"""A task: which of two words is repeated."""

from tongues.evaluate.tasks import Task

ECHO = Task(
    name="echo",
    summary="which of two words was said before",
    languages=("qaa", "qab"),
    prompt="{said}, {said},",
    choices=("{said}", "{other}"),
)
