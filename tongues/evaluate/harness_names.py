"""What the names of lm-eval's tasks say: the task, and the language by the catalogue's tag."""

import re

from langcodes import tag_is_valid

from tongues.core.beside import read_beside
from tongues.languages.catalogue import catalogue_tag

_TABLES = read_beside(__file__, "harness.toml")


def name_and_language(task: str) -> tuple[str, str]:
    """A task's name without its language, as of `xcopa_sw` or `belebele_swh_Latn`, and its tag."""
    for pattern in _TABLES["names"]:
        match = re.fullmatch(pattern, task)
        code = match and _TABLES["codes"].get(match["code"], match["code"])
        if match and code and tag_is_valid(code):
            return match["name"] + (match.groupdict().get("rest") or ""), catalogue_tag(code)
    return task, "und"
