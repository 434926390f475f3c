"""How one step is computed on this machine, the same for training and validation.

Its modules are imported by name where they are needed, since they bring torch.
"""

__all__ = []
