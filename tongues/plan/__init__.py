"""What to do with a base and a budget: tokenizer, tokens, replay, price, and what comes out."""

from tongues.plan.bases import BaseCheckpoint, known_bases, read_base
from tongues.plan.budget import Budget
from tongues.plan.options import Option
from tongues.plan.own_laws import read_laws
from tongues.plan.plan import Plan, make_plan
from tongues.plan.question import Question, Target, ask
from tongues.plan.recipe import hub_text, recipe_of

__all__ = ["BaseCheckpoint", "Budget", "Option", "Plan", "Question", "Target", "ask", "hub_text"]
__all__ += ["known_bases", "make_plan", "read_base", "read_laws", "recipe_of"]
