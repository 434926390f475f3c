"""What to train for a budget: how large, on how much, from which base, and at what price."""

from tongues.plan.bases import BaseCheckpoint
from tongues.plan.laws import Known, PlanLaws, gather_laws, read_laws
from tongues.plan.options import Option
from tongues.plan.plan import NoOption, Plan, make_plan
from tongues.plan.published import Project, published_projects
from tongues.plan.question import Question, ask
from tongues.plan.ready import ReadyBase, find_ready, hub_text, ready_bases, ready_recipe
from tongues.plan.recommend import FlatRange, Recommendation
from tongues.plan.written import write_recipe

__all__ = [
    "BaseCheckpoint",
    "FlatRange",
    "Known",
    "NoOption",
    "Option",
    "Plan",
    "PlanLaws",
    "Project",
    "Question",
    "ReadyBase",
    "Recommendation",
    "ask",
    "find_ready",
    "gather_laws",
    "hub_text",
    "make_plan",
    "published_projects",
    "read_laws",
    "ready_bases",
    "ready_recipe",
    "write_recipe",
]
