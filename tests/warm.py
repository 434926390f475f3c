"""What the fork server of `tests.command` loads and makes once, for all that is forked from it."""

import gc
from pathlib import Path

from ruamel.yaml import YAML

from tests.conftest import RECIPE
from tongues.core import registry
from tongues.recipe import load_recipe
from tongues.text import check_text
from tongues.text.signals import load_identifier

EXAMPLES = Path(__file__).parents[1] / "docs/examples"

for recipe in (
    YAML(typ="safe").load(RECIPE),
    *(EXAMPLES / f"{name}.yaml" for name in ("extended", "family", "one")),
):
    check_text(load_recipe(recipe).text)
load_identifier(None)
for kinds in vars(registry)["_ALL"].values():
    vars(kinds)["_complete"] = False  # what is forked has other packages on its path
gc.freeze()  # what is here is not collected, so not copied, in the processes forked from this one
