"""The whole state of a run, whole and checked, or not there at all.

A checkpoint is a folder: a safetensors file of each process's shares, the model's configuration,
and position.json, written last, with the SHA-256 of the others. Any number of processes opens it.
Of weights it holds those that are trained; the others are the base's.
"""

import shutil
import threading
import time
import warnings
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, distributed
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig, PreTrainedModel

from tongues.core.errors import Stopped, UserError
from tongues.core.files import file_hash, fingerprint, read_json, whole_directory, write_json
from tongues.runs.record import KEPT_CHECKPOINTS
from tongues.text.tokens.mixture import Phase
from tongues.train.engine.processes import PATIENCE, Processes
from tongues.train.engine.scorer import Scorer
from tongues.train.engine.sharding import kept_buffers, reshard
from tongues.train.engine.storage import SharesWriter
from tongues.train.replay import HoldHistory
from tongues.train.spikes import Recent

warnings.filterwarnings("ignore", message="torch.distributed is disabled")  # one process is right

_GENERATION = "generation_config.json"


@dataclass(frozen=True, slots=True)
class Position:
    """How far a run has come; with weights and moments it is the run's whole state.

    The sampling order is a function of the step and the phases, and nothing else in training draws
    random numbers.
    """

    step: int
    seconds: float  # of training so far, over all sittings
    loss_sum: float  # of the steps since the last logged one
    recent: Recent = field(default_factory=Recent)
    phases: list[Phase] = field(default_factory=list)  # shares that were changed
    held: HoldHistory = field(default_factory=HoldHistory)


class Checkpoints:
    """A run's checkpoints, written while training continues.

    A context: leaving it waits for the checkpoint being written. All processes take part in all of
    it. `directory`, which all processes see, holds them as `step-N`, and for good as `milestone-N`;
    the two newest are kept, and all milestones.
    """

    def __init__(
        self,
        directory: Path,
        scorer: Scorer,
        optimizer: torch.optim.Optimizer,
        processes: Processes,
    ) -> None:
        self._directory, self._processes = directory, processes
        self._scorer, self._optimizer = scorer, optimizer
        self._group: distributed.ProcessGroup | None = None
        if processes.count > 1:  # of the thread alone, or its messages would mix with training's
            group = distributed.new_group(timeout=PATIENCE, backend="gloo")
            assert isinstance(group, distributed.ProcessGroup)
            self._group = group
        self._thread = ThreadPoolExecutor(1, "checkpoint")
        self._written: Future[None] | None = None
        self._staged = threading.Event()
        self._waited = self._worked = 0.0  # seconds, of the last one

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._thread.shutdown()
        if error is None or isinstance(error, Stopped):  # whose message promises the checkpoint
            self.wait()

    def save(self, position: Position, *, milestone: bool = False) -> None:
        """Have a thread write the state, which must not change before `stage` returns.

        Only of a GPU's state there is a copy in memory. Waits for the checkpoint before. One that
        cannot be written is a UserError at a later call.
        """
        start = time.monotonic()
        self.wait()
        state = _state(self._scorer, self._optimizer)
        counts = {name: tensor.clone() for name, tensor in state.items() if tensor.numel() == 1}
        copied = {name: _on_host(tensor) for name, tensor in (state | counts).items()}
        if self._scorer.processor.device.type == "cuda":
            torch.cuda.synchronize()
        name = f"{'milestone' if milestone else 'step'}-{position.step:08d}"
        self._staged.clear()
        if all(name in counts or copied[name] is not state[name] for name in state):
            self._staged.set()
        self._waited = time.monotonic() - start
        self._written = self._thread.submit(self._write, name, copied, position)

    @property
    def cost(self) -> float:
        """Seconds that the last one took from training.

        In which it waited, and on a processor those that the thread computed.
        """
        return self._waited + self._worked

    @property
    def ready(self) -> bool:
        """Whether none is being written."""
        return self._written is None or self._written.done()

    def stage(self) -> None:
        """Wait until the state may change: the system has all of it that is to be written."""
        if self._written and not self._staged.is_set():
            start = time.monotonic()
            self._staged.wait()
            self._waited += time.monotonic() - start
        if self._written and self._written.done():
            self.wait()

    def wait(self) -> None:
        """Wait until the checkpoint being written is complete."""
        written, self._written = self._written, None
        try:
            if written:
                written.result()
        except (CheckpointException, OSError) as failed:
            error = failed
            if isinstance(failed, CheckpointException):
                error = next(iter(failed.failures.values()))[0]
            if not isinstance(error, OSError):
                raise error from None
            older = list_checkpoints(self._directory)
            kept = f"; {older[-1].name} is whole" if older else ""
            what, where = f"a checkpoint cannot be written ({error})", str(self._directory)
            hint = f"make room and run it again to resume{kept}"
            raise UserError(what, where=where, hint=hint) from None

    def load(self) -> tuple[Position | None, list[Path]]:
        """Restore the newest whole checkpoint; also returns the damaged ones passed over."""
        self.wait()
        damaged: list[Path] = []
        for name in reversed(self._processes.once(self._tidy)):
            place = self._directory / name
            position, files = _read(place)
            ours = self._processes.share(sorted(files.items()))
            whole = position is not None and _same(place, ours)
            self._processes.wait()  # a file may be all of a large model
            if not self._processes.any(not whole):
                self._restore(place)
                return position, damaged
            damaged.append(place)
        return None, damaged

    def _tidy(self) -> list[str]:
        """Clear what a kill left half written; the names of the whole ones."""
        for place in self._directory.glob(".*.part"):
            shutil.rmtree(place, ignore_errors=True)
        return [place.name for place in list_checkpoints(self._directory)]

    def _write(self, name: str, state: dict[str, Tensor], position: Position) -> None:
        start = time.thread_time()
        try:
            self._write_files(name, state, position)
        finally:
            self._staged.set()
            on_cpu = self._scorer.processor.device.type == "cpu"
            self._worked = time.thread_time() - start if on_cpu else 0.0

    def _write_files(self, name: str, state: dict[str, Tensor], position: Position) -> None:
        place, first = self._directory / name, self._processes.first
        with whole_directory(place) if first else nullcontext(place) as aside:
            paths = [str(aside)]
            if self._group is not None:  # the first process's path
                distributed.broadcast_object_list(paths, src=0, group=self._group)
            writer = SharesWriter(Path(paths[0]), self._staged.set)
            save(state, storage_writer=writer, process_group=self._group)
            if not first:
                return
            model, files = self._scorer.model, dict(writer.digests)
            settings = {"config.json": model.config, _GENERATION: model.generation_config}
            for name, config in settings.items():
                if config is not None:
                    (aside / name).write_text(config.to_json_string(), encoding="utf-8")
                    files[name] = file_hash(aside / name)
            stored = {"position": asdict(position), "files": files}
            write_json(aside / "position.json", {**stored, "fingerprint": fingerprint(stored)})
        # All but the newest go; those after this step are damaged.
        places = list(self._directory.glob("step-*"))
        past = sorted(place for place in places if step_of(place) <= position.step)
        for place in set(places) - set(past[-KEPT_CHECKPOINTS:]):
            shutil.rmtree(place, ignore_errors=True)

    def _restore(self, place: Path) -> None:
        reader = HuggingFaceStorageReader(str(place))
        reshard(self._scorer)
        weights = dict(self._scorer.model.named_parameters())
        self._optimizer.state.clear()
        for path, stored in reader.read_metadata().state_dict_metadata.items():
            kind, _, name = path.partition("/")
            if kind == "weights":
                continue
            assert isinstance(stored, TensorStorageMetadata)
            weight, dtype = weights[name], stored.properties.dtype
            if stored.size == weight.shape:  # a moment, in shares as the weight is
                room = torch.zeros_like(weight, dtype=dtype, requires_grad=False)
            else:  # a count of steps
                room = torch.zeros(stored.size, dtype=dtype, device=weight.device)
            self._optimizer.state[weight][kind] = room
        state = _state(self._scorer, self._optimizer)
        load(state, storage_reader=reader, process_group=self._group)


def list_checkpoints(directory: Path) -> list[Path]:
    """The checkpoints and milestones in a run's folder of them, oldest first."""
    return sorted((*directory.glob("step-*"), *directory.glob("milestone-*")), key=step_of)


def step_of(place: Path) -> int:
    """The step after which a checkpoint was written."""
    return int(place.name.rpartition("-")[2])


def remove_passing(run: Path) -> None:
    """Remove a finished run's checkpoints, but for its milestones."""
    directory = run / "checkpoints"
    for place in (*directory.glob("step-*"), *directory.glob(".*.part")):
        shutil.rmtree(place, ignore_errors=True)
    if directory.is_dir() and not list_checkpoints(directory):
        shutil.rmtree(directory)


def load_weights(place: Path, model: PreTrainedModel | None = None) -> PreTrainedModel:
    """The model of a checkpoint, in this process alone; a UserError when it is damaged.

    model: the base, in which what was trained is replaced; None where all was.
    """
    position, files = _read(place)
    if position is None or not _same(place, files.items()):
        raise UserError("is damaged", where=str(place), hint="take another checkpoint of this run")
    built = model
    if built is None:
        config = AutoConfig.from_pretrained(place, local_files_only=True)
        built = AutoModelForCausalLM.from_config(config)
    if _GENERATION in files:
        built.generation_config = GenerationConfig.from_dict(read_json(place / _GENERATION))
    load(_weights(built), storage_reader=HuggingFaceStorageReader(str(place)), no_dist=True)
    return built


def _on_host(tensor: Tensor) -> Tensor:
    """A tensor on the CPU; of a GPU's, a copy that is begun, in memory that it writes to itself.

    Pinned memory takes several times as many bytes a second, and PyTorch uses it again.
    """
    if tensor.device.type == "cpu":
        return tensor
    room = torch.empty_like(tensor, device="cpu", pin_memory=True)
    return room.copy_(tensor, non_blocking=True)


def _state(scorer: Scorer, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    reshard(scorer)
    state = _weights(scorer.model)
    for name, weight in scorer.model.named_parameters():
        for kind, value in optimizer.state.get(weight, {}).items():
            state[f"{kind}/{name}"] = value
    return state


def _weights(model: PreTrainedModel) -> dict[str, Tensor]:
    trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    tensors = trained | kept_buffers(model)
    return {f"weights/{name}": tensor.detach() for name, tensor in tensors.items()}


def _read(place: Path) -> tuple[Position | None, dict[str, str]]:
    try:
        stored = read_json(place / "position.json")
        if stored.pop("fingerprint") != fingerprint(stored):
            return None, {}
        position = stored["position"]
        recent = Recent(**position.pop("recent"))
        held = HoldHistory(**position.pop("held", {}))
        phases = [Phase(**phase) for phase in position.pop("phases", [])]
        return Position(**position, recent=recent, phases=phases, held=held), stored["files"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None, {}


def _same(place: Path, files: Iterable[tuple[str, str]]) -> bool:
    try:
        return all(file_hash(place / name) == digest for name, digest in files)
    except UserError:
        return False
