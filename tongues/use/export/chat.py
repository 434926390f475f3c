"""What instruction tuning changed in a base, added to a model that was trained on from that base.

Chat vector (Huang et al. 2023, 2310.04799) and instruction residual (2410.10739): the weights
trained + λ (instruct − base), row by row for embeddings, whose tokens go by their text.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import models
from torch import Tensor

from tongues.core.errors import UserError
from tongues.core.files import read_json, write_json
from tongues.core.quantities import show_count
from tongues.models.huggingface import configure, open_layout
from tongues.text.tokens import load_tokenizer
from tongues.text.tokens.frame import read_settings
from tongues.use.export.weights import StoredWeights, write_weights

_TUNED = 0.5  # ‖instruct − base‖ / ‖base‖ of a tuning: 0.02 is usual (2505.12716), 1.4 unrelated
_OVERWRITTEN = 3.0  # ‖trained − base‖ / ‖instruct − base‖ of a layer, from which little is left
_PUBLISHED = 1.5e9  # parameters; 2410.10739 finds no gain below
_NOT_COMPUTED = {
    "_name_or_path",
    "architectures",
    "dtype",
    "initializer_range",
    "max_position_embeddings",
    "torch_dtype",
    "transformers_version",
    "use_cache",
    "vocab_size",
}
_LAYER = re.compile(r"\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class _Rows:
    """Which rows of an embedding are changed, and by which rows of the others."""

    added: np.ndarray  # ids [n, 3]: of the trained model, of instruct, of the base
    copied: np.ndarray  # ids [n, 2]: of the trained model, of instruct
    count: int  # of the result


class Residual(AbstractContextManager["Residual"]):
    """Trained weights, an instruct model and their base, opened and compared.

    A UserError says why the three do not belong together. No more than a tensor of each is in
    memory. A context: leaving it closes the files.
    """

    def __init__(self, trained: Path, instruct: Path, base: Path) -> None:
        self._open = ExitStack()
        self._folders = {"trained": trained, "instruct": instruct, "base": base}
        _same_architecture(self._folders)
        layout = open_layout(trained)
        model, weights = layout.model, layout.whole.state_dict(keep_vars=True)
        ends = [model.get_input_embeddings(), model.get_output_embeddings()]
        by_row = {id(weight) for end in ends if end for weight in end.parameters()}
        self._prefix = f"{layout.whole.base_model_prefix}."
        places = layout.places.items()
        self._by_row = {self._short(x) for x, place in places if id(weights.get(place)) in by_row}
        self._names: dict[str, dict[str, str]] = {}
        self._stored: dict[str, StoredWeights] = {}
        for kind, folder in self._folders.items():
            self._stored[kind] = self._open.enter_context(StoredWeights(folder))
            self._names[kind] = {self._short(name): name for name in self._stored[kind].shapes}
        self._same_weights()
        self._rows = _matched_rows(self._folders)
        self.cautions = self._distances()
        total = sum(parameter.numel() for parameter in model.parameters())
        if total < _PUBLISHED:
            self.cautions.append(
                f"the model has {show_count(total)} parameters; published tries fail below about "
                "1.5B (chat_too_small)"
            )

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def write(self, folder: Path, weight: float) -> None:
        """Write the sum with this weight of the residual into a folder with a config.json."""
        write_weights(folder, self._sums(weight))
        config = read_json(folder / "config.json")
        text = config.get("text_config") or config
        text["vocab_size"] = self._rows.count
        write_json(folder / "config.json", config)

    def _sums(self, weight: float) -> Iterator[tuple[str, Tensor]]:
        for short, name in self._names["trained"].items():
            own, instruct, base = (self._tensor(kind, short) for kind in self._folders)
            if not own.is_floating_point():
                yield name, own
                continue
            if short not in self._by_row:
                yield name, (own.float() + weight * (instruct - base)).to(own.dtype)
                continue
            rows, ids = self._rows, torch.from_numpy(self._rows.added)
            out = own.new_zeros((rows.count, *own.shape[1:]))
            out[: len(own)] = own
            change = instruct[ids[:, 1]] - base[ids[:, 2]]
            out[ids[:, 0]] = (own[ids[:, 0]].float() + weight * change).to(own.dtype)
            here, there = torch.from_numpy(rows.copied).T
            out[here] = instruct[there].to(own.dtype)
            yield name, out

    def _tensor(self, kind: str, short: str) -> Tensor:
        stored = self._stored[kind].tensor(self._names[kind][short])
        return stored if kind == "trained" or not stored.is_floating_point() else stored.float()

    def _short(self, name: str) -> str:
        """Some folders leave out the prefix of the class."""
        return name.removeprefix(self._prefix)

    def _same_weights(self) -> None:
        for kind in ("instruct", "base"):
            where = str(self._folders[kind])
            missing = sorted(self._names["trained"].keys() - self._names[kind].keys())
            if missing:
                what = f"has no `{missing[0]}`, which the trained model has"
                hint = "the three must be of one architecture, all with tied heads or none"
                raise UserError(what, where=where, hint=hint)
            for short, name in self._names["trained"].items():
                own = self._stored["trained"].shapes[name]
                other = self._stored[kind].shapes[self._names[kind][short]]
                first = 1 if short in self._by_row else 0  # rows are matched by their tokens
                if own[first:] != other[first:]:
                    what = f"`{short}` has the shape {list(other)}, not {list(own)}"
                    raise UserError(what, where=where, hint="take the model of the same size")

    def _distances(self) -> list[str]:
        """Cautions by the distances in each layer; a UserError if it is not tuned from the base."""
        sums: dict[str, np.ndarray] = {}  # squares of base, instruct − base, trained − base
        ids = torch.from_numpy(self._rows.added)
        for short in self._names["trained"]:
            own, instruct, base = (self._tensor(kind, short) for kind in self._folders)
            if not own.is_floating_point():
                continue
            own = own.float()
            if short in self._by_row:
                own, instruct, base = own[ids[:, 0]], instruct[ids[:, 1]], base[ids[:, 2]]
            squares = [
                x.double().square().sum().item() for x in (base, instruct - base, own - base)
            ]
            layer = _LAYER.search(f".{short}")
            key = f"layer {layer[1]}" if layer else short
            sums[key] = sums.get(key, np.zeros(3)) + squares
        whole, changed, _ = sum(sums.values(), np.zeros(3))
        where = str(self._folders["instruct"])
        if changed == 0:
            raise UserError("has the weights of the base itself", where=where)
        if sqrt(changed / whole) > _TUNED:
            what = (
                f"is not a tuning of {self._folders['base']}: its weights differ by "
                f"{sqrt(changed / whole):.0%} of their norm, where some 2 % are usual"
            )
            hint = "name the tuning of the very revision that the run started from"
            raise UserError(what, where=where, hint=hint)
        far = [key for key, (_, b, c) in sums.items() if c > _OVERWRITTEN**2 * b]
        if not far:
            return []
        shown = ", ".join(far[:3]) + (f" and {len(far) - 3} more" if len(far) > 3 else "")
        return [
            f"training moved {shown} more than {_OVERWRITTEN:g} times as far as instruction "
            "tuning did: little of the latter may be left (chat_overwritten)"
        ]


def adopt_tokens(folder: Path, instruct: Path) -> list[str]:
    """Add the special tokens of an instruct model that a folder's tokenizer has not; their names.

    Every other id stays as it is.
    """
    own, theirs = load_tokenizer(folder), load_tokenizer(instruct)
    known = own.get_vocab(with_added_tokens=True)
    by_id = sorted(theirs.get_added_tokens_decoder().items())
    missing = [token for _, token in by_id if token.content not in known]
    plain = read_json(folder / "tokenizer.json")
    if not missing:
        return []
    vocabulary, following = plain["model"]["vocab"], max(known.values()) + 1
    if not isinstance(own.model, models.BPE) and following != len(vocabulary):
        what = "has special tokens behind its vocabulary, to which none can be added"
        raise UserError(what, where=str(folder / "tokenizer.json"))
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    for number, token in enumerate(missing, following):
        if isinstance(vocabulary, dict):
            vocabulary[token.content] = number
        else:
            vocabulary.append([token.content, 0.0])
        about = {flag: getattr(token, flag) for flag in flags}
        plain["added_tokens"].append({"id": number, "content": token.content, **about})
    write_json(folder / "tokenizer.json", plain)
    there = load_tokenizer(folder).get_vocab(with_added_tokens=True)
    assert known.items() <= there.items()
    assert len(there) == len(known) + len(missing)
    return [token.content for token in missing]


def adopt_chat(folder: Path, instruct: Path) -> None:
    """Take over the chat template, the end of a turn and how to generate; ids by their tokens."""
    theirs = read_settings(instruct / "tokenizer_config.json")
    template, file = theirs.get("chat_template"), instruct / "chat_template.jinja"
    template = file.read_text(encoding="utf-8") if file.is_file() else template
    if not isinstance(template, str):
        hint = "name the tuned model, with its tokenizer_config.json or chat_template.jinja"
        raise UserError("has no chat template", where=str(instruct), hint=hint)
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    own = read_settings(folder / "tokenizer_config.json")
    keys = {"eos_token", "pad_token", "additional_special_tokens", "extra_special_tokens"}
    if "bos_token" in template:
        keys.add("bos_token")  # else the beginning of a text stays what training saw
    own = {key: x for key, x in own.items() if key not in ("added_tokens_decoder", "chat_template")}
    own |= {key: theirs[key] for key in keys if theirs.get(key)}
    write_json(folder / "tokenizer_config.json", own)
    (folder / "special_tokens_map.json").unlink(missing_ok=True)
    ids, names = load_tokenizer(folder), load_tokenizer(instruct)

    def moved(number: Any) -> Any:
        if isinstance(number, list):
            return [moved(each) for each in number]
        token = names.id_to_token(number) if isinstance(number, int) else None
        return None if token is None else ids.token_to_id(token)

    config = read_json(instruct / "config.json")
    generation = read_settings(instruct / "generation_config.json")
    for key in ("bos_token_id", "eos_token_id", "pad_token_id"):
        generation[key] = moved(generation.get(key, config.get(key)))
    end = own.get("eos_token")
    end = ids.token_to_id(end["content"] if isinstance(end, dict) else end) if end else None
    ends = generation["eos_token_id"]
    ends = ends if isinstance(ends, list) else [ends]
    ends = [x for x in dict.fromkeys([*ends, end]) if x is not None]  # a turn's end among them
    generation["eos_token_id"] = ends if len(ends) > 1 else ends[0]
    generation = {key: value for key, value in generation.items() if value is not None}
    write_json(folder / "generation_config.json", generation)
    settings = read_json(folder / "config.json")
    text = json.dumps(settings | {"eos_token_id": generation["eos_token_id"]}, indent=2)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")


def _same_architecture(folders: Mapping[str, Path]) -> None:
    """Refuse configurations that compute differently; vocabulary and lengths may differ."""
    plain = {kind: configure(folder).to_dict() for kind, folder in folders.items()}
    own = plain["trained"]
    keys = [k for k in own if k not in _NOT_COMPUTED and "token_id" not in k and "drop" not in k]
    keys.sort(key=lambda key: key != "model_type")
    for kind in ("base", "instruct"):
        for key in keys:
            if own[key] != plain[kind].get(key):
                what = f"has `{key}` {plain[kind].get(key)}, and the trained model has {own[key]}"
                hint = "their weights mean different things and cannot be added"
                raise UserError(what, where=str(folders[kind]), hint=hint)


def _matched_rows(folders: Mapping[str, Path]) -> _Rows:
    """Rows by the text of their tokens: old ones are changed, special ones copied, new ones kept.

    The base's rows of special tokens that only instruct models use were never trained.
    """
    each = {kind: load_tokenizer(folder) for kind, folder in folders.items()}
    ids = {kind: tokenizer.get_vocab(with_added_tokens=True) for kind, tokenizer in each.items()}
    own, instruct, base = (ids[kind] for kind in ("trained", "instruct", "base"))
    added = each["instruct"].get_added_tokens_decoder().values()
    special = {token.content for token in added if token.special or token.content not in base}
    shared = [token for token in own if token in instruct and token in base]
    changed = [(own[x], instruct[x], base[x]) for x in shared if x not in special]
    copied = [(own[token], instruct[token]) for token in special if token in own]
    config = configure(folders["trained"]).get_text_config()
    count = max(config.vocab_size, max(own.values()) + 1)
    return _Rows(np.array(changed).reshape(-1, 3), np.array(copied).reshape(-1, 2), count)
