"""Minimise the sum of Huber(log predicted − log measured) for any law."""

from tongues.laws.solver.pose import pose
from tongues.laws.solver.problem import Problem, objective
from tongues.laws.solver.solve import Optimum, descend, solve
from tongues.laws.solver.ties import Ties, read_ties

__all__ = ["Optimum", "Problem", "Ties", "descend", "objective", "pose", "read_ties", "solve"]
