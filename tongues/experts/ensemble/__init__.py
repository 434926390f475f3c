"""Experts used as one: what chooses among them, scoring, writing, and what they are made of."""

from tongues.experts.ensemble.routing import ROUTINGS, Routing, parse_routing

__all__ = ["ROUTINGS", "Routing", "parse_routing"]
