"""Experts used as one: what chooses among them, scoring, writing, and what they are made of.

What brings torch is imported by name where it is needed: `ensemble`, `score`, `generate` and
`average`.
"""

from tongues.experts.ensemble.lineage import (
    Expert,
    Lineage,
    best_experts,
    describe_expert,
    read_lineage,
    router_file,
    verify,
    write_lineage,
)
from tongues.experts.ensemble.router import (
    Router,
    fit_router,
    fit_temperature,
    load_router,
    save_router,
)
from tongues.experts.ensemble.routing import ROUTINGS, Routing, parse_routing

__all__ = [
    "ROUTINGS",
    "Expert",
    "Lineage",
    "Router",
    "Routing",
    "best_experts",
    "describe_expert",
    "fit_router",
    "fit_temperature",
    "load_router",
    "parse_routing",
    "read_lineage",
    "router_file",
    "save_router",
    "verify",
    "write_lineage",
]
