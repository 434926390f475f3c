"""Many runs: which they are, and running them, here or on a cluster."""

from tongues.study.cost import StudyCost, measure_cost
from tongues.study.driver import State, run_all
from tongues.study.grid import plan_runs

__all__ = [
    "State",
    "StudyCost",
    "measure_cost",
    "plan_runs",
    "run_all",
]
