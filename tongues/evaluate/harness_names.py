"""What the names of lm-eval's tasks say: the task, and the language by the catalogue's tag."""

import re

from langcodes import tag_is_valid

from tongues.languages.catalogue import catalogue_tag

# Where names of tasks have the language, and, as `rest`, what follows it. Three letters are one in
# these places only: many words are codes too.
_NAMED = (
    r"(?P<name>mmmlu)_(?P<code>[a-z]{2})_[a-z]{2}(?P<rest>_.+)?",  # with a region
    r"(?P<name>global_mmlu(_full)?|mmlu_prox(_lite)?)_(?P<code>[a-z]{2,3})(?P<rest>_.+)?",
    r"(?P<name>multiblimp|afri.+)_(?P<code>[a-z]{3})",
    r"(?P<name>.+)_(?P<code>[a-z]{2,3}_[A-Za-z]{4})(?P<rest>_[a-z]{4})?",
    r"(?P<name>.+)_(?P<code>[a-z]{2,3})(?P<rest>_prompt_\d+)",
    r"(?P<name>.+)_(?P<code>[a-z]{2})",
)
_CODES = {"jp": "ja", "hbs": "sr"}  # of xwinograd and multiblimp


def name_and_language(task: str) -> tuple[str, str]:
    """A task's name without its language, as of `xcopa_sw` or `belebele_swh_Latn`, and its tag."""
    for pattern in _NAMED:
        match = re.fullmatch(pattern, task)
        code = match and _CODES.get(match["code"], match["code"])
        if match and code and tag_is_valid(code):
            return match["name"] + (match.groupdict().get("rest") or ""), catalogue_tag(code)
    return task, "und"
