"""The store of runs: a run's record, the state of every run, and tables of runs from anywhere."""

__all__ = []
