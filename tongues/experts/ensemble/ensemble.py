"""Experts used as one: what scoring and generating work on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tongues.errors import UserError
from tongues.experts.ensemble.lineage import (
    Lineage,
    describe_expert,
    expert_folder,
    read_lineage,
    verify,
)
from tongues.experts.ensemble.opened import Opened
from tongues.experts.ensemble.router import Router, load_router
from tongues.experts.ensemble.routing import Routing, RoutingContext
from tongues.files import file_hash
from tongues.models.huggingface import configure
from tongues.tokens import load_tokenizer
from tongues.tokens.tokenizer import end_id, vocabulary_size

__all__ = ["Ensemble", "assembled", "open_alone", "open_ensemble"]


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """Experts of one vocabulary, opened as they are needed, with what chooses among them."""

    lineage: Lineage
    models: Opened
    router: Router | None
    tokenizer: Path  # the folder of an expert, which has it
    end_id: int  # ends a document, and so stands before the next
    vocabulary: int  # ids of the tokenizer; a model may have more, which stand for nothing
    context: int | None  # the longest text that every expert can see; None: any

    @property
    def k(self) -> int:
        """The number of experts."""
        return len(self.lineage.experts)

    @property
    def prior(self) -> np.ndarray:
        """The experts' weights [k] before anything is known of a text."""
        return self.router.prior if self.router else np.full(self.k, 1 / self.k)

    def about(self, routing: Routing, language: str | None = None, seed: int = 0) -> RoutingContext:
        """What a routing may know of a text in this language; a UserError where it needs more."""
        expert = None
        if routing.needs_language:
            if language is None:
                hint = "name it (`language`), or use `text`, which finds it"
                raise UserError("the text's language is not given", where="routing", hint=hint)
            expert = self.lineage.number_of(language)
        return RoutingContext(self.prior, self.router, expert, seed)

    def check(self, routing: Routing, language: str | None = None) -> None:
        """A UserError where the ensemble cannot be used in this way."""
        if routing.m and routing.m > self.k:
            there = "it is one model" if self.k == 1 else f"there are {self.k}"
            what = f"`{routing}` asks for {routing.m} experts and {there}"
            name = routing.name
            hint = f"`{name}:{self.k}`, or `{name}` for all" if self.k > 1 else "leave it out"
            raise UserError(what, where="routing", hint=hint)
        if routing.needs_router:
            routing.fitted_router(self.router)
        self.about(routing, language)


def open_ensemble(
    folder: Path,
    workspace: Path | None = None,
    *,
    verified: bool = True,
    memory: int | None = None,
    device: str = "cpu",
    dtype: str = "float32",
) -> Ensemble:
    """Open what `ensemble.json` in `folder` names; a UserError when it is not what it was.

    workspace: the folder that experts are named from; the one three above `folder` if left out.
    verified: compare every file with its SHA-256, which reads each once. memory: bytes of weights
    to hold at most; None: any. device: such as `cuda`.
    dtype: of the weights, such as `bfloat16`.
    """
    lineage = read_lineage(folder)
    workspace = workspace or folder.resolve().parents[2]
    verify(lineage, folder, workspace, bytes_too=verified)
    router = load_router(folder / lineage.router.file) if lineage.router else None
    if router and router.k != len(lineage.experts):
        what = f"the router knows {router.k} experts and there are {len(lineage.experts)}"
        hint = "run `tongues experts train` again, which fits it anew"
        raise UserError(what, where=str(folder), hint=hint)
    return assembled(lineage, router, workspace, memory=memory, device=device, dtype=dtype)


def assembled(
    lineage: Lineage,
    router: Router | None,
    workspace: Path,
    *,
    memory: int | None = None,
    device: str = "cpu",
    dtype: str = "float32",
) -> Ensemble:
    """Experts and a router as one, without looking whether they are what they were."""
    places = [expert_folder(expert, workspace) for expert in lineage.experts]
    tokenizer = load_tokenizer(places[0])
    return Ensemble(
        lineage=lineage,
        models=Opened(places, memory=memory, device=device, dtype=dtype),
        router=router,
        tokenizer=places[0],
        end_id=end_id(tokenizer, places[0]),
        vocabulary=vocabulary_size(tokenizer),
        context=_shortest(places),
    )


def open_alone(folder: Path, name: str, *, device: str = "cpu", dtype: str = "float32") -> Ensemble:
    """A Hugging Face folder as an ensemble of itself, scored and asked in the same way."""
    expert = describe_expert(name, folder, folder, languages={}, parent=None, run=None, tokens=0)
    lineage = Lineage((expert,), {}, name, file_hash(folder / "tokenizer.json"), None, {})
    return assembled(lineage, None, folder, device=device, dtype=dtype)


def _shortest(places: Sequence[Path]) -> int | None:
    lengths = [getattr(configure(place), "max_position_embeddings", None) for place in places]
    return min((length for length in lengths if length), default=None)
