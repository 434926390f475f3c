"""The kept text alone, for whatever reads Parquet."""

from typing import ClassVar

from tongues.use.engines.engine import ENGINES, Engine, Form, Handover


@ENGINES.add
class Text(Engine):
    """Documents by language and split; no settings."""

    name: ClassVar[str] = "text"
    summary: ClassVar[str] = "the kept text as Parquet, held-out text apart"
    form: ClassVar[Form] = "documents"

    def files(self, run: Handover) -> dict[str, str]:
        """None: it is no trainer."""
        return {}

    def command(self, run: Handover, *, nodes: int) -> str:
        """What reads it."""
        return "" if nodes > 1 else "python -c 'import datasets; datasets.load_dataset(\"train\")'"
