"""The command: one thin function a verb; a room is imported only when its verb is called."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command; Ctrl-C while it is being imported ends it as later."""
    try:
        from tongues.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()
