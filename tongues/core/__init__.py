"""What every room stands on: errors, files, numbers, the machine, pages and launchers."""

__all__ = []
