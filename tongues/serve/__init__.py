"""Models behind OpenAI's API, and a page to try them on."""

from tongues.serve.refusal import Limits

__all__ = ["Limits"]
