"""Bring language models to new languages, and know beforehand what it takes.

Every verb of the command is a function here: `tongues.prepare("recipe.yaml")` does what
`tongues prepare recipe.yaml` does, and returns what it made. See docs/how-to/python.md.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tongues.core.errors import UserError
    from tongues.recipe import Recipe, load_recipe
    from tongues.verbs import experts
    from tongues.verbs.guide import doctor, languages, next_steps
    from tongues.verbs.laws import fit
    from tongues.verbs.models import evaluate, export, generate, serve
    from tongues.verbs.pages import ls, report, watch
    from tongues.verbs.plan import new, plan
    from tongues.verbs.recipes import check, import_run, prepare, study, train

__all__ = ["Recipe", "UserError", "__version__", "check", "doctor", "evaluate"]
__all__ += [
    "experts",
    "export",
    "fit",
    "generate",
    "import_run",
    "languages",
    "load_recipe",
    "ls",
    "new",
    "next_steps",
    "plan",
    "prepare",
]
__all__ += ["report", "serve", "study", "train", "watch"]

__version__ = "0.1.0"

# Where each name is defined: it is imported when it is first used, so that `import tongues` and
# the command's help take no time.
_HOMES = {
    "UserError": "tongues.core.errors",
    "Recipe": "tongues.recipe",
    "load_recipe": "tongues.recipe",
    **dict.fromkeys(("doctor", "languages", "next_steps"), "tongues.verbs.guide"),
    "fit": "tongues.verbs.laws",
    **dict.fromkeys(("new", "plan"), "tongues.verbs.plan"),
    **dict.fromkeys(("evaluate", "export", "generate", "serve"), "tongues.verbs.models"),
    **dict.fromkeys(("ls", "report", "watch"), "tongues.verbs.pages"),
    **dict.fromkeys(("check", "import_run", "prepare", "study", "train"), "tongues.verbs.recipes"),
    "experts": "tongues.verbs.experts",  # a group: the module itself
}


if not TYPE_CHECKING:  # or checkers would take every misspelt name for one of `Any`

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = import_module(_HOMES[name])
        globals()[name] = value = getattr(home, name, home)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Keeps `tongues.train` the function: the import system would put the package `train` there.

    `from tongues.train import …` reaches the package all the same.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
