"""What follows training: a run as a folder to publish, rounded, able to chat, as GGUF."""

__all__ = []
