"""Jobs and what starts them: this machine, Slurm, and launchers of other packages."""

from tongues.core.launch.job import DONE, FAILED, UNTOLD, Job, command_line, why_ended
from tongues.core.launch.launcher import (
    LAUNCHERS,
    Launcher,
    Options,
    check_ranks,
    launcher_kind,
    open_launcher,
    watched,
)
from tongues.core.launch.local import Local
from tongues.core.launch.processes import in_processes, torchrun
from tongues.core.launch.shares import run_ranks
from tongues.core.launch.slurm import Slurm

__all__ = ["DONE", "FAILED", "LAUNCHERS", "UNTOLD", "Job", "Launcher", "Local", "Options"]
__all__ += ["check_ranks", "command_line", "in_processes", "launcher_kind"]
__all__ += ["open_launcher", "run_ranks", "torchrun", "watched", "why_ended"]

for _kind in (Local, Slurm):
    LAUNCHERS.add(_kind)
