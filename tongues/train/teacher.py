"""What a teacher predicts at every place of a run's samples, stored with its tokens.

Only the most probable tokens are kept. The text's own token gets the probability of the rest: over
text as the teacher expects it, the gradient is that of its whole distribution.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tongues.errors import UserError
from tongues.files import fingerprint
from tongues.tokens import Tokens
from tongues.train.engine.vocabulary import SoftTargets
from tongues.train.plan import Derived, RunPlan

__all__ = ["TeacherOdds", "open_teacher", "teacher_folder"]

_FILES = {"tokens.bin": np.dtype("<i4"), "odds.bin": np.dtype("<f2")}


@dataclass(frozen=True, slots=True)
class TeacherOdds:
    """The stored predictions of a teacher for all samples of a run, in their order."""

    folder: Path
    samples: int  # of the run
    shape: tuple[int, int]  # of a sample: tokens predicted, and most probable ones of each
    share: float  # of the objective

    @property
    def done(self) -> int:
        """Samples that are stored."""
        each = self.shape[0] * self.shape[1]
        sizes = [(self.folder / name, kind.itemsize * each) for name, kind in _FILES.items()]
        return min(file.stat().st_size // size if file.is_file() else 0 for file, size in sizes)

    def add(self, tokens: np.ndarray, odds: np.ndarray) -> None:
        """Store the next samples: the most probable tokens [n, context, top] and their odds."""
        self.folder.mkdir(parents=True, exist_ok=True)
        begun = self.done * self.shape[0] * self.shape[1]
        for (name, kind), values in zip(_FILES.items(), (tokens, odds), strict=True):
            with (self.folder / name).open("ab") as file:
                file.truncate(begun * kind.itemsize)  # half a sample, after a kill
                file.write(values.astype(kind).tobytes())

    def read(self, first: int, windows: Tensor) -> SoftTargets:
        """What windows [n, context + 1] are to be learned by; first: the number of the first."""
        shape = (self.samples, *self.shape)
        some = slice(first, first + len(windows))
        tokens, odds = (
            torch.from_numpy(
                np.memmap(self.folder / name, kind, "r", shape=shape)[some]
                .reshape(-1, self.shape[1])
                .astype(np.int64 if kind.kind == "i" else np.float32)
            ).to(windows.device)
            for name, kind in _FILES.items()
        )
        own = windows[:, 1:].flatten()
        outside = (tokens != own[:, None]).all(1)
        return SoftTargets(tokens, self.share * odds, 1 - self.share * (~outside).float())


def teacher_folder(plan: RunPlan, derived: Derived, tokens: Tokens) -> TeacherOdds:
    """Where the predictions for a run are stored, by all that they depend on."""
    settings, teacher = plan.settings, plan.settings.teacher
    assert teacher
    parts = [teacher.model_dump(mode="json", exclude={"share"}), plan.shares]
    parts += [tokens.fingerprint, settings.seed, settings.context]
    folder = tokens.path / "teachers" / fingerprint(parts)[:16]
    samples = derived.steps * derived.batch // settings.context
    return TeacherOdds(folder, samples, (settings.context, teacher.top), teacher.share)


def open_teacher(plan: RunPlan, derived: Derived, tokens: Tokens) -> TeacherOdds | None:
    """The stored predictions, if the run has a teacher; a UserError where they are not complete."""
    if plan.settings.teacher is None:
        return None
    stored = teacher_folder(plan, derived, tokens)
    if stored.done < stored.samples:
        what = f"the teacher's predictions are there for {stored.done:,} of {stored.samples:,} "
        hint = "train it by itself: `tongues train` makes them first, in one process"
        raise UserError(f"{what}samples", where="train.teacher", hint=hint)
    return stored
