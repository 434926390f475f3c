"""Models behind OpenAI's API, and a page to try them on."""

from tongues.serve.limits import Limits

__all__ = ["Limits"]
