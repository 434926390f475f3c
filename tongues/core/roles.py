"""What the languages of a run are to it: what its base knows, what it learns, what it replays."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

Role = Literal["target", "base", "other"]


@dataclass(frozen=True, slots=True)
class Roles:
    """Languages by role; nothing is guessed from the shares of a mixture.

    base_languages: what the base model knows, as declared or as its own record says; empty
    without a base. targets: what the run learns. replay: share of all tokens by base language.
    """

    targets: tuple[str, ...]
    base_languages: tuple[str, ...] = ()
    replay: Mapping[str, float] = field(default_factory=dict)

    @property
    def replay_share(self) -> float:
        """Share of all tokens that is replay."""
        return round(sum(self.replay.values()), 9)

    @property
    def forgettable(self) -> tuple[str, ...]:
        """Base languages that the run does not learn further: what it may forget."""
        return tuple(lang for lang in self.base_languages if lang not in self.targets)

    def role(self, lang: str) -> Role:
        """What a language is to the run; one that is learned further is a target."""
        if lang in self.targets:
            return "target"
        return "base" if lang in self.base_languages else "other"

    def sort(self, languages: Iterable[str]) -> list[str]:
        """Languages by role, targets first, each role in the order given."""
        order = ("target", "base", "other")
        return sorted(languages, key=lambda lang: order.index(self.role(lang)))

    def __str__(self) -> str:
        """Such as `en → tr + he, 20 % replay of en`."""
        start = f"{' + '.join(self.base_languages)} → " if self.base_languages else ""
        words = f"{start}{' + '.join(self.targets)}"
        if not self.base_languages:
            return words
        if not self.replay:
            return f"{words}, no replay"
        each = [f"{share * 100:.3g} % replay of {lang}" for lang, share in self.replay.items()]
        return f"{words}, {', '.join(each)}"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "base_languages": list(self.base_languages),
            "targets": list(self.targets),
            "replay": dict(self.replay),
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """The roles that `to_json` wrote, also among other keys."""
        return cls(tuple(plain["targets"]), tuple(plain["base_languages"]), dict(plain["replay"]))


def list_languages(languages: Iterable[str]) -> str:
    """Such as `tr`, `tr and he`, `tr, he and sw`; empty where there is none."""
    *first, last = (*languages,) or ("",)
    return f"{', '.join(first)} and {last}" if first else last
