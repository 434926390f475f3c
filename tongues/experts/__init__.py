"""Language experts: partitions of the text, an expert for each cluster, and ensembles of them."""

from tongues.experts.plans import Round, expert_runs, plan_rounds

__all__ = ["Round", "expert_runs", "plan_rounds"]
