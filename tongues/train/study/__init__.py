"""Many runs: which they are, and running them, here or on a cluster."""

from tongues.train.study.cost import StudyCost, measure_cost
from tongues.train.study.driver import State, run_all
from tongues.train.study.grid import best_rates, plan_runs, plan_study, plan_sweep, unfinished

__all__ = ["State", "StudyCost", "best_rates", "measure_cost", "plan_runs", "plan_study"]
__all__ += ["plan_sweep", "run_all", "unfinished"]
