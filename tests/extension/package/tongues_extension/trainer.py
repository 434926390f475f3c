"""The log of a trainer: a line a step, `step loss`; held-out losses are `step language loss`."""

from pathlib import Path

from tongues.use.imports.log import LoggedHeldOut, LoggedStep, Trainer, TrainerLog


def read(folder: Path) -> TrainerLog | None:
    """The run of `log.txt`; `model` beside it is the trained one."""
    log = folder / "log.txt"
    if not log.is_file():
        return None
    lines = [line.split() for line in log.read_text(encoding="utf-8").splitlines()]
    steps = [LoggedStep(int(x[0]), float(x[1])) for x in lines if len(x) == 2]
    held_out = [LoggedHeldOut(int(x[0]), x[1], float(x[2])) for x in lines if len(x) == 3]
    last = steps[-1].step
    return TrainerLog("plain", last, last, steps, held_out, {last: folder / "model"})


PLAIN = Trainer("plain", "a line a step", read)
