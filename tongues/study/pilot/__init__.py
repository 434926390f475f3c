"""A pilot: the few small runs from which one large run is decided."""

from tongues.study.pilot.rounds import Pilot, plan_pilot
from tongues.study.pilot.whole import run_pilot

__all__ = ["Pilot", "plan_pilot", "run_pilot"]
