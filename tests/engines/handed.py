"""A recipe of a base with new tokens, handed over to other trainers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tongues
from tests.conftest import RECIPE
from tests.train.making import base_of

MORE = """  base: {model: BASE, languages: [qaa]}
  replay: {qaa: 10%}
  eval_tokens: 1000 tokens
  precision: float32
"""
CONTEXT, SAMPLES, STEPS = 64, 8, 39


@dataclass(frozen=True)
class Handed:
    """A workspace with a recipe whose tokens are there, and folders of what is handed over."""

    workspace: Path
    recipe: Path

    def over(self, engine: str | None) -> Path:
        """The folder for an engine, or the base alone; made once."""
        folder = self.workspace / (engine or "ready")
        if not folder.exists():
            given = {"out": folder, "workspace": self.workspace, "quiet": True}
            tongues.export(str(self.recipe), engine=engine, **given)
        return folder

    def bring(self, engine: str, **more: Any) -> Path:
        """Import the run of an engine's folder, as its README says."""
        given = {"workspace": self.workspace, "quiet": True} | more
        return tongues.import_run(self.over(engine) / "out", **given)

    def train(self) -> Path:
        """Our own run from the same base."""
        base = f"train.base={{model: {self.over(None)}, languages: [qaa]}}"
        return tongues.train(self.recipe, [base], workspace=self.workspace, quiet=True)


def hand(tokens: Path, workspace: Path, family: str = "llama") -> Handed:
    """The small recipe continues a base that knows qaa and lacks 60 tokens of its tokenizer."""
    base = base_of(workspace, family, new=60)
    recipe, text = workspace / "small.yaml", RECIPE.replace("{qaa: 100%}", "{qab: 100%}")
    text = text.replace("model: {shape: 0.1M}\n", "")  # the base has its own
    recipe.write_text(text + MORE.replace("BASE", str(base)))
    return Handed(workspace, recipe)
