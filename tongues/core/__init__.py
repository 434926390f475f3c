"""What all packages use: errors, files, numbers, the machine, pages and launchers."""

__all__ = []
