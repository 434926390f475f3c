"""Language experts: the text divided, an expert for each cluster, used as one, and grown."""

from tongues.experts.plans import Round, expert_runs, plan_rounds

__all__ = ["Round", "expert_runs", "plan_rounds"]
