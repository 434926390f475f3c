"""What follows training: a run as a folder to publish, averaged, rounded, able to chat, as GGUF."""

__all__ = []
