"""Many runs: which they are, and running them on this machine."""

from tongues.study.grid import plan_runs
from tongues.study.local import State, run_all

__all__ = ["State", "plan_runs", "run_all"]
