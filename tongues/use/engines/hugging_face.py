"""transformers' Trainer, and the two that are built on it: axolotl and LLaMA-Factory."""

from typing import Any, ClassVar

from tongues.use.engines.engine import BASE, DATA, ENGINES, OUT, Engine, Form, Handover, yaml_text

_ALPHA = 2  # times the rank, as in our own low-rank updates

_TRAIN = '''"""Continue the base on the samples, in their order; by torchrun on several GPUs."""

import os

import torch
from datasets import load_from_disk
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

settings = {settings}
devices = int(os.environ.get("WORLD_SIZE", 1))
each = {samples} // devices  # samples of a step
settings["per_device_train_batch_size"] = min(each, {micro_samples})
settings["gradient_accumulation_steps"] = each // min(each, {micro_samples})


def together(rows):
    ids = torch.tensor([row["input_ids"] for row in rows])
    labels = ids.clone()
    labels[:, 0] = -100  # Trainer divides by all labels, and the first is not predicted
    return {{"input_ids": ids, "labels": labels}}


texts = load_from_disk("{data}")
trainer = Trainer(
    model=AutoModelForCausalLM.from_pretrained("{base}", dtype=torch.float32),
    args=TrainingArguments(bf16=torch.cuda.is_available(), **settings),
    data_collator=together,
    train_dataset=texts.pop("train"),
    eval_dataset={{name.removeprefix("validation_"): texts[name] for name in texts}},
    processing_class=AutoTokenizer.from_pretrained("{base}"),
)
trainer.train()
trainer.save_model()
trainer.save_state()
'''


def _schedule(run: Handover) -> dict[str, Any]:
    """The schedule by transformers' names; warm-ups start at 0 there, ours at the first rate."""
    low = {"min_lr_rate": run.final}
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "cosine": ("cosine_with_min_lr", low),
        "linear": ("polynomial", {"lr_end": run.final * run.learning_rate, "power": 1.0}),
        "wsd": (
            "warmup_stable_decay",
            {"num_decay_steps": run.decay, "min_lr_ratio": run.final, "decay_type": "linear"},
        ),
    }
    name, more = kinds[run.schedule]
    return {"lr_scheduler_type": name, "lr_scheduler_kwargs": more, "warmup_steps": run.warmup}


def _arguments(run: Handover) -> dict[str, Any]:
    """What `TrainingArguments` is given, for one device."""
    return {
        "output_dir": OUT,
        "max_steps": run.steps,
        "per_device_train_batch_size": run.micro_samples,
        "per_device_eval_batch_size": run.micro_samples,
        "gradient_accumulation_steps": run.accumulated,
        "learning_rate": run.learning_rate,
        **_schedule(run),
        "weight_decay": run.weight_decay,
        "adam_beta1": run.betas[0],
        "adam_beta2": run.betas[1],
        "adam_epsilon": run.epsilon,
        "max_grad_norm": run.clip,
        "seed": run.seed,
        "eval_strategy": "steps",
        "eval_steps": run.evaluate_every,
        "eval_on_start": True,
        "save_steps": run.evaluate_every,
        "save_total_limit": 2,
        "logging_steps": 1,
        "report_to": "none",
    }


class _Transformers(Engine):
    """What all three have in common."""

    form: ClassVar[Form] = "packed"
    schedules: ClassVar[tuple[str, ...]] = ("cosine", "linear", "wsd")

    def limits(self, run: Handover) -> list[str]:
        """Of Trainer."""
        return ["The rate of the first step is 0; here it is a step of the warm-up."]


@ENGINES.add
class Transformers(_Transformers):
    """A script of transformers' Trainer."""

    name: ClassVar[str] = "trainer"
    summary: ClassVar[str] = "transformers' Trainer, as a script"

    def files(self, run: Handover) -> dict[str, str]:
        """The script."""
        settings = _arguments(run) | {"train_sampling_strategy": "sequential"}
        lines = [f"    {name!r}: {value!r}," for name, value in settings.items()]
        shown = "\n".join(["{", *lines, "}"]).replace("'", '"')
        sizes = {"samples": run.samples, "micro_samples": run.micro_samples}
        return {"train.py": _TRAIN.format(settings=shown, data=DATA, base=BASE, **sizes)}

    def command(self, run: Handover, *, nodes: int) -> str:
        """By torchrun where there are several GPUs."""
        if nodes == 1:
            return "torchrun --nproc-per-node gpu train.py"
        return f"torchrun --nnodes {nodes} --nproc-per-node gpu $RENDEZVOUS train.py"


@ENGINES.add
class LlamaFactory(_Transformers):
    """LLaMA-Factory's settings."""

    name: ClassVar[str] = "llamafactory"
    summary: ClassVar[str] = "LLaMA-Factory"
    low_rank: ClassVar[bool] = True

    def files(self, run: Handover) -> dict[str, str]:
        """Its YAML."""
        part = {"finetuning_type": "full"}
        if run.rank:
            part = {"finetuning_type": "lora", "lora_rank": run.rank}
            part |= {"lora_alpha": _ALPHA * run.rank, "lora_target": "all"}
            part |= {"additional_target": "embed_tokens,lm_head"}
        settings = {
            "stage": "pt",
            "do_train": True,
            "model_name_or_path": BASE,
            **dict.fromkeys(("dataset", "eval_dataset"), DATA),  # names are asked for …
            "tokenized_path": DATA,  # … and this is read
            **part,
            "disable_shuffling": True,
            "bf16": True,
            **_arguments(run),
        }
        return {"config.yaml": yaml_text(settings, "of one GPU: see README.md for several")}

    def limits(self, run: Handover) -> list[str]:
        """How it counts, and that it leaves out the losses of padding."""
        counted = f"Its losses are {run.context}/{run.context + 1} of those here: it divides by "
        found = [*super().limits(run), counted + "a sample's first token too."]
        ends = "It does not learn to end a document: padding has no token of its own."
        return found if run.padded else [*found, ends]

    def command(self, run: Handover, *, nodes: int) -> str:
        """By its own command."""
        start = "llamafactory-cli train config.yaml"
        return start if nodes == 1 else f"NNODES={nodes} FORCE_TORCHRUN=1 {start}"


@ENGINES.add
class Axolotl(_Transformers):
    """axolotl's settings."""

    name: ClassVar[str] = "axolotl"
    summary: ClassVar[str] = "axolotl"
    labels: ClassVar[bool] = True
    low_rank: ClassVar[bool] = True

    def files(self, run: Handover) -> dict[str, str]:
        """Its YAML."""
        given = _arguments(run)
        renamed = {
            "micro_batch_size": given.pop("per_device_train_batch_size"),
            "eval_batch_size": given.pop("per_device_eval_batch_size"),
            "lr_scheduler": given.pop("lr_scheduler_type"),
        }
        for name in ("eval_strategy", "eval_on_start", "report_to"):
            del given[name]
        part: dict[str, Any] = {}
        if run.rank:
            part = {"adapter": "lora", "lora_r": run.rank, "lora_alpha": _ALPHA * run.rank}
            part |= {"lora_target_linear": True}
            part |= {"lora_modules_to_save": ["embed_tokens", "lm_head"]}
        held_out = [{"path": f"{DATA}/validation_{lang}"} for lang in run.held_out]
        settings = {
            "base_model": BASE,
            "datasets": [{"path": f"{DATA}/train"}],
            "test_datasets": held_out,
            "dataset_prepared_path": "prepared",
            "shuffle_merged_datasets": False,
            "curriculum_sampling": True,
            "sequence_len": run.context + 1,
            "sample_packing": False,
            **part,
            "optimizer": "adamw_torch",
            "bf16": "auto",
            **renamed,
            **given,
        }
        return {"config.yaml": yaml_text(settings, "of one GPU: see README.md for several")}

    def command(self, run: Handover, *, nodes: int) -> str:
        """By its own command."""
        if nodes == 1:
            return "axolotl train config.yaml"
        launch = f"--launcher torchrun -- --nnodes={nodes} --nproc-per-node=gpu $RENDEZVOUS"
        return f"axolotl train config.yaml {launch}"

    def limits(self, run: Handover) -> list[str]:
        """It has one loss for all held-out text."""
        one = "It scores the held-out text of all languages as one; `tongues evaluate` tells apart."
        return [*super().limits(run), one] if len(run.held_out) > 1 else super().limits(run)
