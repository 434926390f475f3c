"""The verbs: each declared once, as settings; what the command does is a function of Python too.

A file here has the settings of some verbs, and what the command prints of what came of them. The
work itself is in `actions`, and imported only when a verb runs. A mistake is a `tongues.UserError`.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command; Ctrl-C while it is being imported ends it as later."""
    try:
        from tongues.verbs.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()
