"""What a verb is told and what does its work belong together."""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, get_args

import pytest

import tongues.verbs.main  # noqa: F401 - which imports every verb
from tongues.verbs.settings import Verb


def declared() -> Iterator[type[Verb[Any]]]:
    """The settings of every verb whose work is named."""
    kinds = [*Verb.__subclasses__()]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return (kind for kind in kinds if "work" in vars(kind))


@pytest.mark.parametrize("kind", [*declared()], ids=lambda kind: kind.__name__)
def test_the_work_of_a_verb_takes_its_settings_and_gives_its_result(kind: type[Verb[Any]]) -> None:
    module, name = kind.work.split(":")
    work = inspect.signature(getattr(import_module(f"tongues.verbs.actions.{module}"), name))
    (asked,) = work.parameters.values()
    assert asked.annotation is kind
    (result,) = (
        get_args(base)[0] for base in getattr(kind, "__orig_bases__", ()) if get_args(base)
    )
    assert shown(work.return_annotation) == shown(result)


def shown(annotation: Any) -> str:
    """A type as it is written, without modules."""
    text = getattr(annotation, "__forward_arg__", annotation)
    text = text.__name__ if isinstance(text, type) and not get_args(text) else str(text)
    words = re.sub(r"ForwardRef\('([^']*)'\)|'", r"\1", text)
    return re.sub(r"\b(\w+\.)+", "", words).replace("None", "NoneType").replace("TypeType", "Type")
