"""The base of a recipe, ready for any trainer: its tokenizer, and a row for each token.

It is the recipe's run before the first step: new rows start as they would there.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import torch

from tongues.core.errors import UserError
from tongues.core.pages import Table, as_markdown
from tongues.core.ranks import Say
from tongues.text.tokens import Mixture
from tongues.train.base import model_folder
from tongues.train.card import add_sections
from tongues.train.engine.processes import join_processes, together
from tongues.train.export import fill_folder, new_folder
from tongues.train.initialize import initialize
from tongues.train.plan import derive
from tongues.train.planned import Derived, RunPlan
from tongues.train.record import make_record
from tongues.train.start import LocalRun, assemble, make_mixture, open_run
from tongues.use.export.gguf import add_gguf, find_script
from tongues.use.export.held_out import held_out_losses, held_out_text, loss_rows
from tongues.use.export.run import store_folder, until

_SNIPPETS = 0.75  # of 50 tokens for each new token, on a processor (docs/log.md, 2026-11-28)
_SCORED = 1500  # characters of each of ten documents, before and after; chosen: seconds each


_UNTRAINED = "New tokens are not trained yet: until they are, their language may score worse."


@dataclass(frozen=True, slots=True)
class ReadyRun:
    """A run that another trainer is to do: all that its first step needs."""

    here: LocalRun
    derived: Derived
    mixture: Mixture

    @property
    def plan(self) -> RunPlan:
        """What it is to be."""
        return self.here.plan


def ready_run(plan: RunPlan, workspace: Path, say: Say) -> ReadyRun:
    """The run that is planned, opened but not begun."""
    if plan.base is None:
        what = "starts from random weights: there is no base to make ready"
        raise UserError(what, where=plan.name, hint="name one by `train.base`")
    processes = join_processes("cuda" if torch.cuda.is_available() else "cpu")
    here = open_run(plan, workspace, processes, None, say)
    derived = derive(here.plan, here.tokens.vocabulary_size, here.base)
    return ReadyRun(here, derived, make_mixture(here.plan, derived, here.tokens))


def export_base(
    ready: ReadyRun, workspace: Path, folder: Path, dtype: str | None, *, gguf: bool, say: Say
) -> None:
    """Write the base of a run as a Hugging Face folder, whole or not at all."""
    if gguf:
        find_script()  # a UserError before anything is computed
    with new_folder(folder) as aside:
        write_base(ready, workspace, aside, dtype, say)
        if gguf:
            tokens = ready.here.tokens
            texts = held_out_text(tokens, tokens.languages, workspace)
            notes = add_gguf(aside, folder.resolve().name, texts, say)
            add_sections(aside, "\n\n".join(["## For llama.cpp", *notes]) + "\n")


def write_base(ready: ReadyRun, workspace: Path, folder: Path, dtype: str | None, say: Say) -> None:
    """Fill a folder with the base of a run; its card says what new tokens cost and save."""
    here, derived, base = ready.here, ready.derived, ready.here.base
    assert base is not None
    changes = {"trainable": "all", "max_forgetting": {}, "compile": "off"}
    whole = here.plan.settings.model_copy(update=changes)
    plan = replace(here.plan, settings=whole)
    record = make_record(plan, derived, here.tokens, ready.mixture, base)
    given = whole.model_copy(update={"threads": here.threads})  # or trials would find how many
    here = replace(here, plan=replace(plan, settings=given))
    with together(here.processes, plan.name):
        setup, _, embeddings = assemble(here, derived, say, None)
        if here.token_map:
            count = len(here.token_map.missing)
            most = None if setup.processor.device.type == "cuda" else int(_SNIPPETS * count)
            extension = initialize(setup, here.token_map, embeddings, say, most)
            record = replace(record, vocabulary_extension=extension)
        fill_folder(folder, setup.scorer.model, here.tokens.path, until(record, 0))
    del setup, embeddings
    own = model_folder(base)
    store_folder(folder, dtype, own, say)
    if not here.token_map:
        return  # the base itself
    say("scoring held-out text before and after")
    found = held_out_text(here.tokens, here.tokens.languages, workspace, most=_SCORED)
    texts = {
        lang: [replace(one, text=one.text[:_SCORED]) for one in documents]
        for lang, documents in found.items()
    }
    losses = {"base": held_out_losses(own, texts), "ready": held_out_losses(folder, texts)}
    rows = loss_rows(losses)
    for row in rows:
        say("bits per byte of {language}: {base} → {ready}".format(**row))
    say(_UNTRAINED)
    table = as_markdown([Table.of(rows)])
    add_sections(folder, f"## Before training\n\n{table}\n\n{_UNTRAINED}\n")
