"""Where torch's distributed checkpoints are kept: safetensors files, nothing pickled.

They carry their places in the whole as torch's own `HuggingFaceStorageReader` looks for them.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.distributed.checkpoint.metadata import Metadata
from torch.distributed.checkpoint.planner import SavePlan, SavePlanner, WriteItem
from torch.distributed.checkpoint.storage import StorageWriter, WriteResult
from torch.futures import Future

from tongues.models.tensor_file import TensorFile

Share = tuple[WriteItem, Tensor]


class SharesWriter(StorageWriter):
    """Writes each process's shares to a file of its own in `folder`.

    Torch's own writer holds all of them in memory once more. `staged` is called once this process's
    shares may change. Afterwards `digests`, in the first process, has the SHA-256 of each file.
    """

    def __init__(self, folder: Path, staged: Callable[[], None]) -> None:
        self.folder, self.staged = folder, staged
        self.digests: dict[str, str] = {}

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Nothing: a writer is for one checkpoint."""

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Nothing: the folder is there."""

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """The plan as it is."""
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """The plans with the name of each process's file."""
        return [
            replace(plan, storage_data=f"state-{number}-of-{len(plans)}.safetensors")
            for number, plan in enumerate(plans, 1)
        ]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write this process's shares."""
        shares: dict[str, Share] = {}
        for item in plan.items:
            tensor = planner.resolve_data(item)
            assert isinstance(tensor, Tensor)
            shares[item.index.fqn] = item, tensor
        assert len(shares) == len(plan.items), "two shares of one tensor in one process"
        path = self.folder / plan.storage_data
        digest = write_shares(path, shares, self.staged) if shares else ""
        results = [
            WriteResult(item.index, tensor.nbytes, (plan.storage_data, digest))
            for item, tensor in shares.values()
        ]
        future: Future[list[WriteResult]] = Future()
        future.set_result(results)
        return future

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Take note of what was written; the files say themselves what they hold."""
        self.digests = dict(result.storage_data for rank in results for result in rank)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Any path will do."""
        return True


def write_shares(path: Path, shares: Mapping[str, Share], staged: Callable[[], None]) -> str:
    """Write a safetensors file of tensors by name to the disk itself; returns its SHA-256.

    `staged` is called when the system has them, before they are on the disk and summed up.
    """
    offsets: dict[str, Any] = {}
    for name, (item, _) in shares.items():
        assert item.tensor_data
        offsets[name] = {"saved_offsets": list(item.tensor_data.chunk.offsets)}
    shapes = {name: (tensor.dtype, tensor.shape) for name, (_, tensor) in shares.items()}
    with TensorFile(path, shapes, {"DCP_SHARDING_INFO": json.dumps(offsets)}) as written:
        for name, (_, tensor) in shares.items():
            written.write(name, tensor)
    staged()
    with path.open("rb") as file:
        os.fsync(file.fileno())
        return hashlib.file_digest(file, "sha256").hexdigest()
