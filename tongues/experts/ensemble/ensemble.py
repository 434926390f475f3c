"""Experts used as one: opened when they are first needed, with what chooses among them; scored."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn
from transformers import PreTrainedModel

from tongues.core.errors import UserError
from tongues.core.files import file_hash
from tongues.core.hardware import this_machine
from tongues.core.quantities import show_bytes
from tongues.experts.ensemble.lineage import (
    Lineage,
    describe_expert,
    expert_folder,
    read_lineage,
    verify,
    without_gone,
)
from tongues.experts.ensemble.router import Router, load_router
from tongues.experts.ensemble.routing import Routing, RoutingContext, check_experts
from tongues.experts.ensemble.updates import Updates, find_updates, with_updates
from tongues.models.folders import stored_shapes, weight_files
from tongues.models.huggingface import configure, load_model, open_layout
from tongues.models.placement import Placement
from tongues.models.scorer import batch_scorer
from tongues.text.tokens import load_tokenizer
from tongues.text.tokens.frame import TextFrame, read_frame
from tongues.text.tokens.tokenizer import vocabulary_size


class ExpertModels:
    """The experts' models by number; above a limit the least recently used are unloaded.

    memory: bytes of weights to hold at most, though never fewer than one model; None: any.
    workspace: where the base is of experts that are low-rank updates; None: all are opened whole.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        memory: int | None = None,
        placement: Placement | None = None,
        workspace: Path | None = None,
    ) -> None:
        self.folders, self.memory = tuple(folders), memory
        self.placement = placement or Placement()
        self._models: OrderedDict[int, PreTrainedModel] = OrderedDict()
        self._updates = [find_updates(x, workspace) if workspace else None for x in folders]
        self._bases: dict[tuple[Path, torch.device], PreTrainedModel] = {}
        bases = {updates.base for updates in self._updates if updates}
        width, each = self.placement.dtype.itemsize, zip(folders, self._updates, strict=True)
        # of each, when open
        self.bytes = tuple(0 if x in bases else width * _count(x, own) for x, own in each)
        self.shared = width * sum(map(_count, bases))  # of what all of them are updates of

    @property
    def home(self) -> torch.device:
        """The device on which what they predict is mixed."""
        return self.placement.devices[0]

    def __getitem__(self, number: int) -> PreTrainedModel:
        """An expert, opened now if it was not."""
        if number not in self._models:
            most = float("inf") if self.memory is None else self.memory - self.shared
            while self._models and sum(self.bytes[n] for n in (*self._models, number)) > most:
                self._models.popitem(last=False)
            self._models[number] = self._opened(number)
        self._models.move_to_end(number)
        return self._models[number]

    def _opened(self, number: int) -> PreTrainedModel:
        device = self.placement.devices[number % len(self.placement.devices)]
        updates = self._updates[number]
        key = (updates.base if updates else self.folders[number], device)
        model = self._bases.get(key) or map_model(key[0])
        nn.Module.to(model, device, self.placement.dtype)
        if updates is None:
            return model
        self._bases[key] = model
        return with_updates(model, updates.adapters)

    @property
    def held(self) -> tuple[int, ...]:
        """The experts that are open, the least recently used first."""
        return tuple(self._models)


def _count(folder: Path, updates: Updates | None = None) -> int:
    """Weights of a Hugging Face folder, or of what updates another one's."""
    if updates is None:
        return sum(map(prod, stored_shapes(folder).values()))
    files = (adapter / "adapter_model.safetensors" for adapter in updates.adapters)
    return sum(weight.numel() for file in files for weight in load_file(file).values())


def map_model(folder: Path) -> PreTrainedModel:
    """The causal model of a Hugging Face folder in float32, to predict with.

    One stored in float32 takes no memory until its pages are read, and opens in milliseconds.
    """
    open_layout(folder)  # other shapes are refused before there is memory for any
    return load_model(folder, checked=False).requires_grad_(False)


def check_memory(folder: Path) -> None:
    """Refuse a model larger than this machine's memory, before its files are read.

    One in float32 is mapped and may be larger.
    """
    machine, needed = this_machine(), 4 * _count(folder)
    stored = sum(file.stat().st_size for file in weight_files(folder))
    if stored < needed > machine.memory:
        there = f"{machine.name} has {show_bytes(machine.memory)}"
        what = f"takes {show_bytes(needed)} of memory in float32; {there}"
        raise UserError(what, where=str(folder), hint="use it on a larger machine")


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """Experts of a vocabulary, opened as they are needed, with what chooses among them."""

    lineage: Lineage
    models: ExpertModels
    router: Router | None
    tokenizer: Path  # the folder of an expert, which has it
    frame: TextFrame  # of every text
    vocabulary: int  # ids of the tokenizer; a model may have more, which mean nothing
    context: int | None  # the longest text that every expert can see; None: any

    @property
    def k(self) -> int:
        """The number of experts."""
        return len(self.lineage.experts)

    @property
    def width(self) -> int:
        """The number of weights: one for each expert, and for the base where it is one."""
        return len(self.lineage.members)

    def about(self, routing: Routing, language: str | None = None) -> RoutingContext:
        """What a routing may know of a text in this language; a UserError where it needs more."""
        expert = None
        if routing.needs_language:
            if language is None:
                hint = "name it (`language`), or use `filter:2`, which finds it"
                raise UserError("the text's language is not given", where="routing", hint=hint)
            expert = self.lineage.number_of(language)
        return RoutingContext(self.width, self.router, expert)

    def check(self, routing: Routing, language: str | None = None) -> None:
        """A UserError where the ensemble cannot be used in this way."""
        check_experts(routing, self.k)
        self.about(routing, language)


def open_ensemble(
    folder: Path,
    workspace: Path | None = None,
    *,
    memory: int | None = None,
    placement: Placement | None = None,
) -> Ensemble:
    """Open what `ensemble.json` in `folder` names; a UserError when it is not what it was.

    workspace: the folder that experts are named from; the one three above `folder` if left out.
    Every file is compared with its SHA-256, which reads each once. memory: bytes of weights to hold
    at most; None: any. placement: of the experts; None: this processor, in float32.
    """
    workspace = workspace or folder.resolve().parents[2]
    lineage = without_gone(read_lineage(folder), workspace)
    verify(lineage, folder, workspace)
    assert lineage.router  # as verified
    router = load_router(folder / lineage.router.file)
    if router.k != len(lineage.experts):
        what = f"the router knows {router.k} experts and there are {len(lineage.experts)}"
        hint = "run `tongues experts train` again, which fits it again"
        raise UserError(what, where=str(folder), hint=hint)
    return assembled(lineage, router, workspace, memory=memory, placement=placement)


def assembled(
    lineage: Lineage,
    router: Router | None,
    workspace: Path,
    *,
    memory: int | None = None,
    placement: Placement | None = None,
) -> Ensemble:
    """Experts and a router as one, without looking whether they are what they were."""
    places = [expert_folder(expert, workspace) for expert in lineage.members]
    tokenizer = load_tokenizer(places[0])
    lengths = [getattr(configure(place), "max_position_embeddings", None) for place in places]
    return Ensemble(
        lineage=lineage,
        models=ExpertModels(
            places,
            memory=memory,
            placement=placement,
            workspace=workspace if len(places) > 1 else None,
        ),
        router=router and replace(router, fallback=lineage.fallback is not None),
        tokenizer=places[0],
        frame=read_frame(tokenizer, places[0]),
        vocabulary=vocabulary_size(tokenizer),
        context=min((length for length in lengths if length), default=None),
    )


def open_alone(folder: Path, name: str, placement: Placement | None = None) -> Ensemble:
    """A Hugging Face folder as an ensemble of one, used in the same way."""
    check_memory(folder)
    expert = describe_expert(name, folder, folder, languages={}, parent=None, run=None, tokens=0)
    lineage = Lineage((expert,), {}, name, file_hash(folder / "tokenizer.json"), None, {})
    return assembled(lineage, None, folder, placement=placement)


def mixed(weights: np.ndarray, log_probs: np.ndarray) -> np.ndarray:
    """The log-probability of every token [T] by the weighted mean of the experts', by [T, k].

    -inf where all active experts give it no probability; NaN where one of them gives NaN.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(weights > 0, np.log(weights) + log_probs, -np.inf)
        highest = terms.max(axis=1, initial=-np.inf)
        highest = np.where(np.isneginf(highest), 0.0, highest)
        return np.log(np.exp(terms - highest[:, None]).sum(axis=1)) + highest


@torch.inference_mode()
def expert_log_probs(ensemble: Ensemble, documents: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Of each document of token ids, the log-probability [T, k] of its tokens by every expert.

    Each is predicted from the first token of its frame on, in windows as long as experts can see,
    which begin with the token before.
    """
    scores = [np.empty((len(tokens), ensemble.width)) for tokens in documents]
    for expert in range(ensemble.width):
        scorer = batch_scorer(ensemble.models[expert])
        for tokens, found in zip(documents, scores, strict=True):
            text = np.concatenate([[ensemble.frame.first], tokens]).astype(np.int64)
            step = ensemble.context or len(text)
            for start in range(0, len(tokens), step):
                window = ensemble.frame.begin(text[None, start : start + step + 1].copy())
                row = torch.from_numpy(window).to(scorer.device)
                every = torch.ones_like(row[:, 1:], dtype=torch.bool)
                likely, _ = scorer.score(row[:, :-1], row[:, 1:], every)
                found[start : start + step, expert] = likely[0].double().cpu().numpy()
    return scores
