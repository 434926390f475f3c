"""The log of a trainer: a line a step, `step loss`; held-out losses are `step language loss`."""

from pathlib import Path

from tongues.use.imports.log import LoggedHeldOut, LoggedStep, TrainerLog, read_limited


class Plain:
    """Reads `log.txt`; `model` beside it is the trained one."""

    name, summary = "plain", "a line a step"

    def recognises(self, folder: Path) -> bool:
        """By the name of the log."""
        return (folder / "log.txt").is_file()

    def read(self, folder: Path) -> TrainerLog:
        """All lines."""
        lines = [line.split() for line in read_limited(folder / "log.txt").splitlines()]
        steps = tuple(LoggedStep(int(x[0]), float(x[1])) for x in lines if len(x) == 2)
        held_out = tuple(LoggedHeldOut(int(x[0]), x[1], float(x[2])) for x in lines if len(x) == 3)
        last = steps[-1].step
        return TrainerLog("plain", last, last, steps, held_out, {last: folder / "model"})


PLAIN = Plain()
