"""Models behind OpenAI's API, and a page to try them on.

What brings torch is imported by name where it is needed: `served`, `engine` and `writing`.
"""

from tongues.serve.limits import Limits

__all__ = ["Limits"]
