"""A pilot: the few small runs from which one large run is decided."""

from tongues.study.pilot.rounds import PilotState, plan_pilot, run_pilot

__all__ = ["PilotState", "plan_pilot", "run_pilot"]
