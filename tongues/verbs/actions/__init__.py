"""What the verbs do: each reads a recipe or places on disk, and returns what it made."""

from tongues.core.cores import wait_politely

__all__ = []

wait_politely()
