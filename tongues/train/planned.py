"""What is planned of one run: what it trains on, and the numbers that follow from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tongues.core.roles import Roles
from tongues.models import Anatomy, Shape, find_shape
from tongues.recipe import Initialization, Train
from tongues.runs.record import DerivedMixture, Parameters
from tongues.train.gpu_memory import WEIGHT

# Settings that say how a machine goes about it, or what else is measured, not what the run is.
_MACHINES = {"run", "checkpoint_every", "milestones", "micro_batch"}
_MACHINES |= {"recompute", "shards", "offload"}
_MACHINES |= {"compile", "threads", "track"}
_ROLE_KEYS = {"base", "targets", "replay"}  # of the settings, which the roles name already


def token_shares(mixture: Mapping[str, float], replay: Mapping[str, float]) -> dict[str, float]:
    """Share of all tokens by language: what is replayed, and the mixture in the rest."""
    rest = 1 - sum(replay.values())
    return {lang: rest * share for lang, share in mixture.items()} | dict(replay)


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A run, wholly determined but for the tokens it reads."""

    name: str  # `<folder>/<run>` in the run store
    strategy: str  # source, scratch, cpt or expert
    roles: Roles
    base: str | None  # a run of the store, or a Hugging Face folder
    tokens: str  # name of the prepared tokens
    shape: Shape | None  # None: the base's
    tied_embeddings: bool
    new_embeddings: Initialization  # of tokens the base does not have
    settings: Train
    cluster: str | None = None  # expert: of a partition of the training text by documents
    mixture: DerivedMixture | None = None  # None: the recipe names the shares

    @property
    def shares(self) -> dict[str, float]:
        """Share of all tokens by language: what is replayed, and the mixture in the rest."""
        return token_shares(self.settings.shares, self.settings.replay)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {key: getattr(self, key) for key in self.__dataclass_fields__} | {
            "roles": self.roles.to_json(),
            "shape": self.shape.name if self.shape else None,
            "settings": self.settings.model_dump(mode="json"),
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "RunPlan":
        """The plan that `to_json` wrote."""
        shape = find_shape(plain["shape"]) if plain["shape"] else None
        settings = Train.model_validate(plain["settings"])
        roles = Roles.from_json(plain["roles"])
        return cls(**{**plain, "roles": roles, "shape": shape, "settings": settings})

    def identity(self) -> dict[str, Any]:
        """The settings that decide the bytes of the result."""
        settings = self.settings.model_dump(mode="json", exclude=_MACHINES)
        if settings["optimizer"] == "adamw":  # as before another could be chosen
            del settings["optimizer"]
        cluster = {"cluster": self.cluster} if self.cluster else {}
        return cluster | {
            "strategy": self.strategy,
            "base": self.base,
            **self.roles.to_json(),
            "shape": self.shape.name if self.shape else None,
            "tied_embeddings": self.tied_embeddings,
            "new_embeddings": self.new_embeddings if self.base else None,
            **{key: value for key, value in settings.items() if key not in _ROLE_KEYS},
        }


@dataclass(frozen=True, slots=True)
class Derived:
    """Numbers that follow from a plan and a vocabulary."""

    anatomy: Anatomy
    batch: int  # tokens
    learning_rate: float  # at its peak
    steps: int
    tokens: int
    flops: float  # exact, attention included
    memory: int  # bytes of each process at the peak
    moments: int  # bytes of a parameter's

    @property
    def parameters(self) -> Parameters:
        """Exact counts."""
        return self.anatomy.parameters

    @property
    def flops_rule(self) -> float:
        """6 x parameters x tokens."""
        return 6.0 * self.parameters["total"] * self.tokens

    @property
    def model_bytes(self) -> int:
        """Of the model on disk."""
        return 4 * self.parameters["total"]

    @property
    def trained(self) -> int:
        """Parameters that are trained, low-rank updates included."""
        trained = self.anatomy.trained
        return self.parameters["total"] if trained is None else trained

    @property
    def checkpoint_bytes(self) -> int:
        """Of each checkpoint on disk: trained weights and their moments."""
        return (WEIGHT + self.moments) * self.trained

    def as_json(self) -> dict[str, Any]:
        """The numbers by their names."""
        names = ("parameters", "batch", "learning_rate", "steps", "tokens", "flops", "flops_rule")
        names += ("trained", "memory", "model_bytes", "checkpoint_bytes")
        return {name: getattr(self, name) for name in names}
