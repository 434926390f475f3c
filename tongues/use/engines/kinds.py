"""The engines: transformers' Trainer and what is built on it, NVIDIA's two, and text alone."""

import json
from pathlib import Path
from typing import Any, ClassVar

from tongues.use.engines.engine import ENGINES, PLACES, Form, Handover, Recipient

TEMPLATES = Path(__file__).parent / "templates"
_TORCHRUN = "torchrun --nproc-per-node gpu"
_MEET = "--nnodes @nodes --nproc-per-node gpu $RENDEZVOUS"
_MANY = f"torchrun {_MEET}"
_TITAN = "torchtitan.train --module settings --config recipe"
_DIVIDE = (
    "On several GPUs, divide `gradient_accumulation_steps` in `config.yaml` by their number; "
    "`slurm.sh` and `sky.yaml` do."
)
_DECAY = "Weight decay is on embeddings, too."
_ONE = "It scores the held-out text of all languages as one; `tongues evaluate` scores each."


def _lines(values: dict[str, Any], indent: str = "") -> str:
    """Keys of a YAML file, with values as JSON, which YAML reads."""
    return "\n".join(f"{indent}{key}: {json.dumps(value)}" for key, value in values.items())


def _arguments(values: dict[str, Any], indent: int) -> str:
    """Arguments of a Python call, a line each."""
    return "\n".join(f"{'':{indent}}{key}={value!r}," for key, value in values.items())


class _OfTransformers(Recipient):
    """What is built on transformers' Trainer."""

    form: ClassVar[Form] = "packed"

    def schedule(self, run: Handover) -> dict[str, Any]:
        """By transformers' names."""
        wsd = {"num_decay_steps": run.decay, "min_lr_ratio": run.final, "decay_type": "linear"}
        kinds: dict[str, tuple[str, dict[str, Any]]] = {
            "cosine": ("cosine_with_min_lr", {"min_lr_rate": run.final}),
            "linear": ("polynomial", {"lr_end": run.final * run.learning_rate, "power": 1.0}),
            "wsd": ("warmup_stable_decay", wsd),
        }
        name, more = kinds[run.schedule]
        return {"lr_scheduler_type": name, "lr_scheduler_kwargs": more, "warmup_steps": run.warmup}

    def limits(self, run: Handover) -> list[str]:
        """Of Trainer."""
        return [
            "The rate of the first step is 0; here it is a step of the warm-up.",
            "A run that stops resumes by its own checkpoints, not to the same bytes.",
            _DECAY,
        ]


@ENGINES.add
class TransformersScript(_OfTransformers):
    """A script of transformers' Trainer."""

    name: ClassVar[str] = "trainer"
    summary: ClassVar[str] = "transformers' Trainer"
    template: ClassVar[Path] = TEMPLATES / "trainer.py.txt"
    settings: ClassVar[str] = "train.py"
    start: ClassVar[str] = f"{_TORCHRUN} train.py"
    start_many: ClassVar[str] = f"{_MANY} train.py"

    def values(self, run: Handover) -> dict[str, str]:
        """The schedule as Python has it."""
        return {"schedule": json.dumps(self.schedule(run))}


@ENGINES.add
class LlamaFactory(_OfTransformers):
    """LLaMA-Factory's settings."""

    name: ClassVar[str] = "llamafactory"
    summary: ClassVar[str] = "LLaMA-Factory"
    template: ClassVar[Path] = TEMPLATES / "llamafactory.yaml.txt"
    settings: ClassVar[str] = "config.yaml"
    start: ClassVar[str] = "llamafactory-cli train config.yaml"
    start_many: ClassVar[str] = (
        f"NNODES=@nodes FORCE_TORCHRUN=1 {start} gradient_accumulation_steps=@of_each"
    )
    divided: ClassVar[str] = _DIVIDE

    def values(self, run: Handover) -> dict[str, str]:
        """The schedule."""
        return {"schedule": _lines(self.schedule(run))}

    def limits(self, run: Handover) -> list[str]:
        """How it counts, and that it leaves out the losses of padding."""
        counted = f"Its losses are {run.context}/{run.context + 1} of those here: a sample's first "
        found = [*super().limits(run), f"{counted}token counts too."]
        ends = "It does not learn to end a document: padding has no token of its own."
        return found if run.padded else [*found, ends]


@ENGINES.add
class Axolotl(_OfTransformers):
    """axolotl's settings."""

    name: ClassVar[str] = "axolotl"
    summary: ClassVar[str] = "axolotl"
    template: ClassVar[Path] = TEMPLATES / "axolotl.yaml.txt"
    settings: ClassVar[str] = "config.yaml"
    start: ClassVar[str] = "axolotl train config.yaml"
    start_many: ClassVar[str] = (
        f"{start} --gradient-accumulation-steps=@of_each --launcher torchrun -- {_MEET}"
    )
    divided: ClassVar[str] = _DIVIDE
    labels: ClassVar[bool] = True

    def values(self, run: Handover) -> dict[str, str]:
        """The schedule and the held-out texts."""
        schedule = self.schedule(run)
        schedule = {"lr_scheduler": schedule.pop("lr_scheduler_type")} | schedule
        texts = [f"  - path: {PLACES['data']}/validation_{lang}" for lang in run.held_out]
        precision = {"bf16": "auto" if run.half else "false"}
        return precision | {"schedule": _lines(schedule), "texts": "\n".join(texts)}

    def limits(self, run: Handover) -> list[str]:
        """It has one loss for all held-out text, and weights of the type that it computes in."""
        weights = "Where a GPU has bfloat16, weights have it, too: `bf16: false` keeps float32."
        found = [*super().limits(run), *([weights] if run.half else [])]
        return [*found, *([_ONE] if len(run.held_out) > 1 else [])]


@ENGINES.add
class Torchtitan(Recipient):
    """torchtitan's settings, which are Python."""

    name: ClassVar[str] = "torchtitan"
    summary: ClassVar[str] = "torchtitan"
    form: ClassVar[Form] = "packed"
    template: ClassVar[Path] = TEMPLATES / "torchtitan.py.txt"
    settings: ClassVar[str] = "settings.py"
    start: ClassVar[str] = f"{_TORCHRUN} -m {_TITAN}"
    start_many: ClassVar[str] = f"{_MANY} -m {_TITAN}"
    families: ClassVar[tuple[str, ...]] = ("llama",)

    def values(self, run: Handover) -> dict[str, str]:
        """The schedule, whose last part is a share of the steps."""
        wsd = run.schedule == "wsd"
        schedule = {"decay_type": "linear" if wsd else run.schedule}
        schedule |= {"decay_ratio": run.decay / run.steps} if wsd else {}
        return {"schedule": _arguments(schedule, 12)}

    def limits(self, run: Handover) -> list[str]:
        """What its checkpoints do not have, and what is one there."""
        last = f"`{PLACES['out']}/checkpoint/step-{run.steps}`"
        return [
            "It was written for torchtitan 0.3, which needs a PyTorch newer than 2.13.",
            f"Its last checkpoint is weights alone: copy `{PLACES['base']}/*.json` to {last}.",
            f"The line below needs `--model` with that folder: {last}.",
            *([_ONE] if len(run.held_out) > 1 else []),
        ]


class _OfMegatron(Recipient):
    """What reads Megatron's shards."""

    form: ClassVar[Form] = "shards"

    def schedule(self, run: Handover, *, decay: str) -> dict[str, Any]:
        """By Megatron's names; `decay` is what they call the steps of the last part of `wsd`."""
        wsd = run.schedule == "wsd"
        return {"lr_decay_style": "WSD" if wsd else run.schedule} | (
            {decay: run.decay, "lr_wsd_decay_style": "linear"} if wsd else {}
        )

    def limits(self, run: Handover) -> list[str]:
        """It has a sampler of its own."""
        return [
            "It shuffles documents by its own seed: batches differ, the shares do not.",
            "A sample may begin in the middle of a text and has no token before it.",
            _DECAY,
        ]


@ENGINES.add
class AutoModelSettings(_OfMegatron):
    """NeMo AutoModel's settings."""

    name: ClassVar[str] = "automodel"
    summary: ClassVar[str] = "NeMo AutoModel"
    template: ClassVar[Path] = TEMPLATES / "automodel.yaml.txt"
    settings: ClassVar[str] = "config.yaml"
    start: ClassVar[str] = "automodel config.yaml"
    start_many: ClassVar[str] = f"{_MANY} -m nemo_automodel.cli.app config.yaml"

    def limits(self, run: Handover) -> list[str]:
        """What it computes in."""
        alone = "Weights are float32, products bfloat16; on one GPU those are float32, too."
        return [*super().limits(run), alone]

    def values(self, run: Handover) -> dict[str, str]:
        """The schedule and the held-out texts."""
        schedule = self.schedule(run, decay="wsd_decay_steps")
        schedule |= {"lr_warmup_steps": run.warmup, "lr_decay_steps": run.steps}
        form = (
            "validation_dataset_{lang}:\n  <<: *text\n"
            "  paths: {{validation: [{data}/{lang}/valid]}}\n  splits_to_build: validation"
        )
        texts = [form.format(lang=lang, data=PLACES["data"]) for lang in run.held_out]
        shown = _lines(schedule | {"min_lr": run.final * run.learning_rate}, "  ")
        learned = [lang for lang in run.held_out if lang not in run.base_languages]
        judged = (learned or [*run.held_out, "default"])[0]  # by it the best checkpoint is named
        return {"schedule": shown, "texts": "\n".join(texts), "judged": judged}


@ENGINES.add
class MegatronBridge(_OfMegatron):
    """A script of Megatron-Bridge."""

    name: ClassVar[str] = "megatron-bridge"
    summary: ClassVar[str] = "NeMo Megatron-Bridge"
    template: ClassVar[Path] = TEMPLATES / "megatron_bridge.py.txt"
    settings: ClassVar[str] = "train.py"
    start: ClassVar[str] = f"{_TORCHRUN} train.py"
    start_many: ClassVar[str] = f"{_MANY} train.py"

    def values(self, run: Handover) -> dict[str, str]:
        """The schedule as Python has it."""
        schedule = self.schedule(run, decay="lr_wsd_decay_iters")
        schedule |= {"lr_warmup_iters": run.warmup, "lr_decay_iters": run.steps}
        return {"schedule": _arguments(schedule, 8)}

    def limits(self, run: Handover) -> list[str]:
        """Its checkpoints are Megatron's."""
        back = "Its checkpoints become a Hugging Face folder by `AutoBridge.export_ckpt`."
        return [*super().limits(run), back]


@ENGINES.add
class KeptText(Recipient):
    """No trainer: documents by language and split."""

    name: ClassVar[str] = "text"
    summary: ClassVar[str] = "the kept text as Parquet, held-out text apart"
    form: ClassVar[Form] = "documents"
