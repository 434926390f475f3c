"""Models behind OpenAI's API, and a page to try them on."""
