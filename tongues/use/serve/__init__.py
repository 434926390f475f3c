"""Models behind OpenAI's API, and a page to try them on."""

__all__ = ()  # `text_rules` starts fast because nothing is imported here
