"""The command: one thin function a verb; a room is imported only when its verb is called."""

from tongues.cli.main import main

__all__ = ["main"]
