"""An ensemble as a folder that needs no workspace, or as one model, a mixture of experts."""

import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tongues.core.errors import UserError
from tongues.core.files import file_name
from tongues.core.pages import CARD, Table, as_markdown, text_table
from tongues.core.quantities import show_count
from tongues.experts.ensemble.card import write_ensemble_card, write_expert_card, write_merged_card
from tongues.experts.ensemble.lineage import (
    ADAPTER,
    ROUTER,
    Expert,
    Lineage,
    expert_folder,
    read_lineage,
    router_file,
    verify,
    without_gone,
    write_lineage,
)
from tongues.experts.ensemble.router import load_router
from tongues.experts.train import training_sample
from tongues.models.folders import stored_shapes
from tongues.models.huggingface import save_model
from tongues.runs.record import Run, read_run
from tongues.text import Document
from tongues.text.tokens import load_tokenizer, open_cluster, open_tokens, tokenizer_files
from tongues.text.tokens.frame import read_frame
from tongues.train.card import add_sections, find_tokens
from tongues.train.export import copy_files, copy_model, new_folder
from tongues.train.metadata import CardScores
from tongues.use.export.held_out import (
    Losses,
    held_out_losses,
    held_out_text,
    loss_rows,
    worse_than_base,
)
from tongues.use.export.moe import fit_gates, merge_to_moe
from tongues.use.export.run import base_folder, store_folder

# The newest evaluation of a run, an ensemble or a model, by its folder, as a card has it.
Evaluated = Callable[[Path], CardScores]

_ADAPTER = Path(ADAPTER).parent.name  # of an expert of low rank, in the folder of its run
_PER_TOKEN = 2  # experts that a token uses, as Mixtral does (arXiv 2401.04088)

# What the card and the terminal say of the model.
_LAYERS = "{experts} experts in each layer, {used} a token: {size}."
_SHARED = "All that is not feed-forward layers is the same in all experts, bit for bit."
_AVERAGED = (
    "All that is not feed-forward layers is averaged; the experts are {apart:.1%} of its norm from "
    "that."
)
_GATES = "The router is a linear discriminant of the experts' training text, not trained."


def export_ensemble(folder: Path, workspace: Path, out: Path, *, evaluated: Evaluated) -> None:
    """Write an ensemble with all its experts to `out`, where it needs no workspace.

    Each expert is in a Hugging Face folder with its card; `ensemble.json` names them from its own
    folder on, so that the whole may be moved. A UserError where anything is not as it was made.
    """
    with new_folder(out) as aside:
        name, lineage = _name(folder, workspace), without_gone(read_lineage(folder), workspace)
        verify(lineage, folder, workspace)
        short = [expert.name.rpartition("/")[2] for expert in lineage.members]
        twice = max(Counter(map(str.casefold, short)).values()) > 1
        folders = [*map(file_name, (one.name for one in lineage.members) if twice else short)]
        for expert, own in zip(lineage.members, folders, strict=True):
            place, copied = expert_folder(expert, workspace), aside / own
            copied.mkdir()
            run = _run_of(expert, place)
            if (adapter := (run or place) / _ADAPTER).is_dir():
                shutil.copytree(adapter, copied / _ADAPTER)
            if run:
                copy_model(run, workspace, copied)
                _add_scores(copied, evaluated(run))
                continue
            copy_files(place, copied)
            if not (copied / CARD).is_file():
                write_expert_card(copied, expert, name, workspace)
        assert lineage.router  # as verified
        shutil.copyfile(folder / lineage.router.file, aside / ROUTER)
        router = load_router(aside / ROUTER)
        moved = list[Expert]()
        for expert, own in zip(lineage.members, folders, strict=True):
            whole = {n.removeprefix("../"): mark for n, mark in expert.sha256.items()}
            moved.append(replace(expert, folder=f"./{own}", run=None, sha256=whole))
        k, of = len(lineage.experts), router_file(aside / ROUTER)
        parts = {"experts": tuple(moved[:k]), "fallback": next(iter(moved[k:]), None)}
        write_lineage(replace(lineage, **parts, router=of), aside)
        write_ensemble_card(aside, name, lineage, folders[:k], router, workspace)
        _add_scores(aside, evaluated(folder))


def export_moe(
    folder: Path,
    workspace: Path,
    out: Path,
    *,
    evaluated: Evaluated,
    dtype: str | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Write an ensemble's experts as one mixture of experts to `out`, a folder with a card.

    dtype: of the stored weights; None: the base's own. It is compared with the base and the experts
    on held-out text, where that is there. Languages on which it is worse than the base are named,
    here and on the card.
    """
    with new_folder(out) as aside:
        name, lineage = _name(folder, workspace), read_lineage(folder)
        verify(lineage, folder, workspace)
        places = [expert_folder(expert, workspace) for expert in lineage.experts]
        runs = {e.name: _run_of(e, place) for e, place in zip(lineage.experts, places, strict=True)}
        records = {expert: read_run(run) for expert, run in runs.items() if run}
        sentences = _write_moe(aside, places, lineage, records, workspace)
        say("\n".join(sentences))
        base = base_folder(lineage.base, workspace)
        table = _compare(aside, base, places, lineage, records, workspace, say)
        sentences += store_folder(aside, dtype, base, say)
        scores = evaluated(aside)
        write_merged_card(
            aside, name, lineage, sentences, records, workspace, table, bool(scores.section)
        )
        _add_scores(aside, scores)


def _write_moe(
    aside: Path,
    places: Sequence[Path],
    lineage: Lineage,
    records: Mapping[str, Run],
    workspace: Path,
) -> list[str]:
    """The model, its router fitted to each expert's training text; what a reader should know."""
    if len(places) < 2:
        raise UserError("is one expert", where="--moe", hint="export its run, which is one model")
    model, apart = merge_to_moe(places, _PER_TOKEN)
    texts = [_text_of(expert, lineage, records, workspace) for expert in lineage.experts]
    fit_gates(model, texts, read_frame(load_tokenizer(places[0]), places[0]))
    save_model(model, aside)
    settings = places[0].glob("generation_config.json")
    for file in dict.fromkeys([*settings, *tokenizer_files(places[0])]):
        shutil.copyfile(file, aside / file.name)
    stored, total = stored_shapes(places[0]).items(), model.num_parameters()
    forward = sum(prod(shape) for name, shape in stored if ".mlp." in name)  # of an expert
    used = total - (len(places) - _PER_TOKEN) * forward
    size = f"{show_count(total)} parameters, of which a token uses {show_count(used)}"
    how = _LAYERS.format(experts=len(places), used=_PER_TOKEN, size=size)
    return [how, _AVERAGED.format(apart=apart) if apart else _SHARED, _GATES]


def _text_of(
    expert: Expert, lineage: Lineage, records: Mapping[str, Run], workspace: Path
) -> list[np.ndarray]:
    """Training text of an expert, of the languages that are its own if there are any."""
    record = records.get(expert.name)
    place = find_tokens(record, workspace) if record else None
    if record is None or place is None:
        what = f"the training text of expert `{expert.name}` is gone: the router is fitted to it"
        hint = "name the workspace where the ensemble was trained by `--workspace`"
        raise UserError(what, where=str(workspace / "tokens"), hint=hint)
    held, cluster = open_tokens(place), record.settings.get("cluster")
    own = [lang for lang in expert.languages if lineage.languages.get(lang) == expert.name]
    if cluster:
        held, own = open_cluster(held, cluster), list(expert.languages)
    documents = training_sample(held, own or list(expert.languages), record.seed)
    order = np.random.default_rng(record.seed).permutation(len(documents))
    return [documents[number] for number in order]


def _compare(
    aside: Path,
    base: Path | None,
    places: Sequence[Path],
    lineage: Lineage,
    records: Mapping[str, Run],
    workspace: Path,
    say: Callable[[str], None],
) -> str:
    """Held-out bits per byte of the base, each language's expert and the model, as Markdown."""
    if base is None:
        say("caution: the base is gone, so the model was not measured (not_measured)")
        return ""
    newest = (find_tokens(record, workspace) for record in reversed(list(records.values())))
    tokens = open_tokens(next(filter(None, newest)))  # there, since the router was fitted to it
    texts = held_out_text(tokens, list(lineage.languages), workspace, [lineage])
    before, own = held_out_losses(base, texts), held_out_losses(aside, texts)
    experts = _expert_losses(texts, places, lineage)
    rows = loss_rows({"base": before, "its expert": experts, "moe": own})
    say(f"held-out bits per byte:\n{text_table(rows)}")
    losses = as_markdown([Table.of(rows)])
    if worse := worse_than_base(own, before):
        say(f"caution: {worse[0].lower()}{worse[1:-1]} (worse_than_base)")
        losses += f"\n\n{worse}"
    return losses


def _expert_losses(
    texts: Mapping[str, Sequence[Document]], places: Sequence[Path], lineage: Lineage
) -> Losses:
    losses: dict[str, Any] = {}
    for name, place in zip(lineage.names, places, strict=True):
        own = {lang: of for lang, of in texts.items() if lineage.languages[lang] == name}
        losses |= held_out_losses(place, own) if own else {}
    return {lang: losses[lang] for lang in texts}


def _add_scores(folder: Path, own: CardScores) -> None:
    add_sections(folder, own.section, scores=own.scores)


def _name(folder: Path, workspace: Path) -> str:
    """Of an ensemble in the store, or of one elsewhere, its folder's."""
    store, whole = (workspace / "ensembles").resolve(), folder.resolve()
    return str(whole.relative_to(store)) if whole.is_relative_to(store) else whole.name


def _run_of(expert: Expert, place: Path) -> Path | None:
    directory = place.parent
    if place.name == "model" and (directory / "run.json").is_file():
        with suppress(ValueError, KeyError):
            return directory if read_run(directory).run == expert.run else None
    return None
