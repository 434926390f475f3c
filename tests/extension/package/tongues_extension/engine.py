"""An engine that takes token shards: its settings are a template in a file of one's own."""

from pathlib import Path
from typing import ClassVar

from tongues.use.engines.engine import Form, Recipient


class Shell(Recipient):
    """Settings as variables of a shell."""

    name: ClassVar[str] = "shell"
    summary: ClassVar[str] = "variables for a script"
    form: ClassVar[Form] = "shards"
    template: ClassVar[Path] = Path(__file__).parent / "engine.txt"
    settings: ClassVar[str] = "settings.sh"
    start: ClassVar[str] = "sh train.sh"
    start_many: ClassVar[str] = "sh train.sh $RENDEZVOUS"
