"""Where runs are started: this machine, Ray, Slurm."""

from tongues.study.launchers.find import find_launcher
from tongues.study.launchers.launcher import Job, Launcher

__all__ = ["Job", "Launcher", "find_launcher"]
