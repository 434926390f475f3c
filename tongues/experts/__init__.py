"""Language experts: the text divided, an expert for each part, used as one, and grown."""

from tongues.experts.plans import expert_runs, plan_rounds
from tongues.experts.rounds import Round

__all__ = ["Round", "expert_runs", "plan_rounds"]
