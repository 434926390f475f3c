"""Language experts: an evaluation of ensembles by every routing, against one dense model.

Models are the base that everything was trained from, the dense model, and each division of the text
by each routing; a division that was trained with several random seeds is scored as their mean.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from tongues.errors import UserError
from tongues.evaluate.conduct import Asked, Results, evaluate
from tongues.evaluate.evaluation import (
    NATS_PER_TOKEN,
    Evaluation,
    ExpertCell,
    ExpertScores,
)
from tongues.evaluate.losses import text_scores
from tongues.evaluate.outcome import put_together
from tongues.evaluate.texts import DocumentLosses, Policy, mean_losses
from tongues.evaluate.texts.source import held_out_documents
from tongues.evaluate.units import Unit
from tongues.experts.ensemble.lineage import Lineage, expert_folder, read_lineage
from tongues.experts.ensemble.model import find_model
from tongues.experts.ensemble.router import load_router
from tongues.experts.ensemble.routing import ROUTINGS, Routing, parse_routing
from tongues.experts.heldout import base_shares, same_tokenizer, unseen_documents
from tongues.experts.partition.partition import Partition
from tongues.experts.routed import RoutedText, routed_texts
from tongues.text import Document
from tongues.tokens import Tokens, load_tokenizer, open_tokens
from tongues.train.base import model_folder

__all__ = ["evaluate_experts", "usual_routings"]


@dataclass(frozen=True, slots=True)
class _Setting:
    """A division of the text by one routing; its ensembles, one for each random seed."""

    division: str
    routing: str  # empty for one model alone
    ensembles: tuple[str, ...]  # their names

    @property
    def name(self) -> str:
        """Of the model."""
        return self._routed(self.division)

    @property
    def members(self) -> tuple[str, ...]:
        """The ensembles by the routing, as `open_models` takes them."""
        return tuple(map(self._routed, self.ensembles))

    def _routed(self, name: str) -> str:
        return f"{name}@{self.routing}" if self.routing else name


def usual_routings(k: int) -> list[Routing]:
    """What is worth comparing for this number of experts."""
    if k == 1:
        return [parse_routing("uniform")]
    return [variant for routing in ROUTINGS for variant in routing.variants(k)]


def evaluate_experts(
    ensembles: Mapping[str, Sequence[Path]],
    text: str,
    workspace: Path,
    folder: Path,
    *,
    scored: int,
    context: int,
    memory: int | None = None,
    watch: Callable[..., None] = lambda share, *words: None,
) -> Evaluation:
    """Score held-out text with all ensembles of one recipe by all routings; kept in `folder`.

    Every expert reads every document once. Losses are in nats per token of the experts' tokenizer;
    a base model with another one reads the same text in its own tokens. ensembles: folders by
    division, one for each random seed; one of them may be `dense`, with which all are compared, and
    one `before`, which others grew from. text: the name of prepared tokens. scored: tokens of a
    language, in whole documents. context: tokens of a window. memory: bytes of weights to hold at
    most; None: any.
    """
    tokens = open_tokens(workspace / "tokens" / text)
    lineages = {
        division: [_checked(place, tokens, workspace) for place in places]
        for division, places in ensembles.items()
    }
    everyone = list(chain(*lineages.values()))
    unseen = unseen_documents(tokens, everyone, workspace)
    documents = held_out_documents(tokens, unseen, tokens=scored)
    base = everyone[0].seed
    settings = [_Setting(base, "", (base,))]
    unknown: dict[str, set[str]] = {}
    for division, places in ensembles.items():
        known = set.intersection(*(set(of.languages) for of in lineages[division]))
        k = len(lineages[division][0].experts)
        names = tuple(_name(place, workspace) for place in places)
        for routing in usual_routings(k):
            setting = _Setting(division, str(routing) if k > 1 else "", names)
            settings.append(setting)
            if routing.needs_language:
                unknown |= dict.fromkeys(setting.members, documents.keys() - known)
    asked = Asked({text: documents}, policy=Policy(context), unknown=unknown)
    done = evaluate(_by_ensemble(settings), asked, workspace, folder, memory=memory, watch=watch)
    if done.asked.faults:
        fault = done.asked.faults[0]
        hint = f"{fault.sample}; train it again"
        raise UserError(f"{fault.reason}, {fault.place}", where=fault.source, hint=hint)
    return replace(
        _together(done, text, settings),
        experts=ExpertScores(
            base=base,
            same_tokenizer=same_tokenizer(_model_of(base, workspace), tokens.tokenizer_path),
            base_shares=base_shares(base, tokens.languages, workspace),
            context=context,
            train_tokens={lang: tokens.counts[lang]["train"]["tokens"] for lang in documents},
            cells=_cells(done, text, settings, lineages),
            partitions={
                division: Partition.from_json(each[0].partition)
                for division, each in lineages.items()
            },
            routed=_routed(ensembles, lineages, tokens, documents),
        ),
    )


def _checked(folder: Path, tokens: Tokens, workspace: Path) -> Lineage:
    """An ensemble's lineage; a UserError where its experts have another tokenizer."""
    lineage = read_lineage(folder)
    place = expert_folder(lineage.experts[0], workspace)
    if not same_tokenizer(place, tokens.tokenizer_path):
        what = f"its experts have another tokenizer than the text in {tokens.path}"
        hint = "train it again, or prepare the text with its `tokenizer.json` by `tokens.base`"
        raise UserError(what, where=str(folder), hint=hint)
    return lineage


def _model_of(name: str, workspace: Path) -> Path:
    return model_folder(find_model(name, workspace)[1])


def _name(folder: Path, workspace: Path) -> str:
    """An ensemble's name in the store, or its path elsewhere."""
    store = workspace / "ensembles"
    return str(folder.relative_to(store) if folder.is_relative_to(store) else folder)


def _by_ensemble(settings: Sequence[_Setting]) -> list[str]:
    """The members of all settings, those of one ensemble next to each other."""
    by_name: dict[str, list[str]] = {}
    for setting in settings:
        for name, member in zip(setting.ensembles, setting.members, strict=True):
            by_name.setdefault(name, []).append(member)
    return list(dict.fromkeys(chain(*by_name.values())))


def _together(done: Results, text: str, settings: Sequence[_Setting]) -> Evaluation:
    """The evaluation: a model for each setting, compared with the dense model and the base."""
    there = {model.name: model for model in done.models}
    counted = {
        unit.language: of.tokens
        for unit, of in done.texts.items()
        if unit.subject not in settings[0].members
    }
    losses = {one.name: _losses(done, text, one, counted) for one in settings}
    names = [one.name for one in settings]
    dense = next((one.name for one in settings if one.division == "dense"), None)
    scores = text_scores(
        losses,
        [(name, dense) for name in names if dense and name != dense],
        dict.fromkeys(names[1:], names[0]),
        unit=NATS_PER_TOKEN,
        grown=_grown(settings, losses),
    )
    models = [
        replace(there[one.members[0]], name=one.name, division=one.division, members=one.members)
        for one in settings
    ]
    alone = put_together(replace(done, asked=replace(done.asked, texts={})))
    return replace(alone, models=models, texts={text: scores})


def _losses(
    done: Results, text: str, setting: _Setting, counted: Mapping[str, np.ndarray]
) -> dict[str, DocumentLosses]:
    """A setting's losses by language, in the mean over its members.

    counted: tokens of each document by the experts' tokenizer, over which losses are shared out.
    """
    found = {}
    for lang in done.asked.texts[text]:
        units = [Unit(member, text, lang) for member in setting.members]
        if all(unit in done.texts for unit in units):
            each = (replace(done.texts[unit], tokens=counted[lang]) for unit in units)
            found[lang] = mean_losses(list(each))
    return found


def _grown(
    settings: Sequence[_Setting], losses: Mapping[str, Mapping[str, DocumentLosses]]
) -> dict[str, dict[str, str]]:
    """What a setting that grew is compared with in each language: the ensemble before.

    That was used alike, all of fewer experts for some of more; where that could not score the
    language, by the expert that the text is nearest to.
    """
    before = {one.routing or "uniform": one.name for one in settings if one.division == "before"}
    found: dict[str, dict[str, str]] = {}
    for one in settings[1:]:
        if not before or one.division == "before":
            continue
        ways = (one.routing or "uniform", one.routing.partition(":")[0], "text", "uniform")
        found[one.name] = {
            lang: next(before[way] for way in ways if way in before and lang in losses[before[way]])
            for lang in losses[one.name]
        }
    return found


def _cells(
    done: Results,
    text: str,
    settings: Sequence[_Setting],
    lineages: Mapping[str, Sequence[Lineage]],
) -> list[ExpertCell]:
    """Every expert alone on every language, nats per token."""
    base = settings[0].name
    cells = []
    for division, each in lineages.items():
        own = [one for one in settings if one.division == division]
        for place, lineage in enumerate(each):
            for lang in done.asked.texts[text]:
                units = [Unit(one.members[place], text, lang) for one in own]
                read = [done.texts[unit] for unit in units if unit in done.texts]
                alone = next((of for of in read if of.of_experts), None)
                if alone is None:
                    continue
                count = float(alone.tokens.sum())
                before = float(done.texts[Unit(base, text, lang)].nats.sum())
                cells += [
                    ExpertCell(
                        division=division,
                        ensemble=own[0].ensembles[place],
                        expert=expert.name,
                        learned=expert.languages.get(lang, 0.0),
                        language=lang,
                        loss=nats / count,
                        base_loss=before / count,
                    )
                    for expert, nats in zip(lineage.experts, alone.of_experts, strict=True)
                ]
    return cells


def _routed(
    ensembles: Mapping[str, Sequence[Path]],
    lineages: Mapping[str, Sequence[Lineage]],
    tokens: Tokens,
    documents: Mapping[str, Sequence[Document]],
) -> dict[str, Sequence[RoutedText]]:
    """Short texts as the first ensemble of each division routes them."""
    tokenizer = load_tokenizer(tokens.tokenizer_path)
    begun = {
        lang: [np.array(tokenizer.encode(own[0].text, add_special_tokens=False).ids)]
        for lang, own in documents.items()
    }
    return {
        division: routed_texts(each[0], load_router(folder / each[0].router.file), tokenizer, begun)
        for division, each in lineages.items()
        for folder in ensembles[division][:1]
        if each[0].router and len(each[0].experts) > 1
    }
