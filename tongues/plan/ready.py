"""Ready recipes for well-known bases: a base, a language and a folder of text make one.

`ready.csv` has what the bases' pages and configurations state. A recipe names only what the base
does not decide; the rest follows from it (`tongues.train.defaults`).
"""

import csv
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from tongues.errors import UserError, nearest
from tongues.plan.published import published_projects, usual_replay
from tongues.quantities import show_count

__all__ = ["ReadyBase", "ready_bases", "ready_recipe"]

_RECIPE = """\
# {short} on `{target}`. What the recipe leaves out follows from the base: `tongues check` shows it.
# The base: {parameters:,} parameters, licence {licence}.{gated}
name: {name}
text:
  files:
{texts}
tokens:
  base: {base}
  held_out: 100k tokens
train:
  base: {{model: {base}, languages: [{languages}]}}
{mixture}
  budget: {budget}
"""
_REPLAYED = "    {lang}: [texts/{lang}]    # a language of the base, to be replayed"
_LEARNED = "    {lang}: [texts/{lang}]    # folders, files or globs of .txt, .jsonl, .parquet"


@dataclass(frozen=True, slots=True)
class ReadyBase:
    """A base with a ready recipe."""

    base: str  # id of the hub
    parameters: int
    vocabulary: int  # rows of its embeddings
    context: int
    licence: str
    gated: bool  # its terms must be accepted on its page
    first: str  # what its tokenizer puts before a text; empty: nothing, or not known
    languages: tuple[str, ...]  # of those that its makers name

    @property
    def short(self) -> str:
        """The name without the organisation."""
        return self.base.split("/")[1]

    def row(self) -> dict[str, str]:
        """As a row of a table."""
        return {
            "base": self.base,
            "parameters": show_count(self.parameters),
            "vocabulary": f"{self.vocabulary:,}",
            "context": f"{self.context:,}",
            "first token": self.first,
            "licence": self.licence + (", gated" if self.gated else ""),
            "languages": " ".join(self.languages[:6]) + (" …" if len(self.languages) > 6 else ""),
        }


@lru_cache
def ready_bases() -> dict[str, ReadyBase]:
    """The bases by their id, in the order of the table."""
    text = (files("tongues.plan") / "ready.csv").read_text(encoding="utf-8")
    return {
        row["base"]: ReadyBase(
            row["base"],
            int(row["parameters"]),
            int(row["vocabulary"]),
            int(row["context"]),
            row["licence"],
            row["gated"] == "yes",
            row["first"],
            tuple(row["languages"].split()),
        )
        for row in csv.DictReader(text.splitlines())
    }


def ready_recipe(base: str, language: str, budget: str = "100M tokens") -> str:
    """A recipe in YAML that continues a base on a language; base: its id, or the end of it."""
    by_name = {
        name.lower(): one for one in ready_bases().values() for name in (one.base, one.short)
    }
    ready = by_name.get(base.lower())
    if ready is None:
        short = [one.short for one in ready_bases().values()]
        hint = f"{nearest(base, short)}; for another base change the ids in one of these"
        raise UserError(f"there is no ready recipe for `{base}`", where="BASE", hint=hint)
    replayed = next((lang for lang in ready.languages if lang != language), None)
    texts = [_LEARNED.format(lang=language)]
    mixture = [f"  mixture: {{{language}: 100%}}"]
    if language in ready.languages:
        mixture.insert(0, f"  targets: [{language}]")
    if replayed:
        share = usual_replay(published_projects())[0]
        texts.append(_REPLAYED.format(lang=replayed))
        mixture.append(f"  replay: {{{replayed}: {share:.0%}}}    # median of published projects")
    return _RECIPE.format(
        short=ready.short,
        target=language,
        parameters=ready.parameters,
        licence=ready.licence,
        gated=f"\n# Gated: accept its terms at huggingface.co/{ready.base}" if ready.gated else "",
        name=f"{ready.short.lower()}-{language}",
        texts="\n".join(texts),
        base=ready.base,
        languages=", ".join(ready.languages),
        mixture="\n".join(mixture),
        budget=budget,
    )
