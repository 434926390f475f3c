"""The verbs: what the command does, as functions; `tongues` offers them by name.

Each reads a recipe or places on disk, says on standard error how it gets on (unless `quiet`), and
returns what it made. A mistake is a `tongues.UserError`.
"""

from tongues.cores import wait_politely

__all__ = []

wait_politely()
