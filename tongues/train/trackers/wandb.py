"""Weights & Biases: an offline run in the run's directory, which `wandb sync` uploads."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tongues.core.extras import require
from tongues.train.trackers.tracker import TRACKERS, Write, settings_of


class WeightsAndBiases:
    """Offline, unless `WANDB_MODE` says otherwise; `WANDB_PROJECT` names the project."""

    name, summary = "wandb", "Weights & Biases; offline unless `WANDB_MODE=online`"

    def check(self) -> None:
        """Its package is there."""
        require("wandb", "train.track")

    @contextmanager
    def open(self, directory: Path) -> Iterator[Write]:
        """Begin a run; an earlier offline one is removed, an earlier online one is kept there."""
        if os.environ.setdefault("WANDB_MODE", "offline") != "online":
            os.environ["WANDB_ERROR_REPORTING"] = "false"  # wandb would send its crashes
        import wandb

        shutil.rmtree(directory / "wandb", ignore_errors=True)
        run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "tongues"),
            name=directory.name,
            dir=directory,
            config=settings_of(directory),
            settings=wandb.Settings(silent=True, console="off", disable_git=True),
        )
        run.define_metric("*", step_metric="step")  # its own steps only go forward
        try:
            yield lambda step, numbers: run.log({"step": step, **numbers})
        finally:
            run.finish()


TRACKERS.add(WeightsAndBiases())
