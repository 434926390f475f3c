"""NeMo AutoModel and Megatron-Bridge: they read the token shards as they are."""

from typing import Any, ClassVar

from tongues.use.engines.engine import (
    BASE,
    DATA,
    ENGINES,
    OUT,
    Engine,
    Form,
    Handover,
    yaml_text,
)

_DATASET = "nemo_automodel.components.datasets.llm.megatron_dataset.MegatronPretraining"
_TOKENIZER = "nemo_automodel._transformers.auto_tokenizer.NeMoAutoTokenizer.from_pretrained"
_LOADER = {
    "_target_": "torchdata.stateful_dataloader.StatefulDataLoader",
    "collate_fn": "nemo_automodel.components.datasets.utils.default_collater",
}


@ENGINES.add
class AutoModel(Engine):
    """NeMo AutoModel's settings."""

    name: ClassVar[str] = "automodel"
    summary: ClassVar[str] = "NeMo AutoModel"
    form: ClassVar[Form] = "shards"
    schedules: ClassVar[tuple[str, ...]] = ("cosine", "linear", "wsd")

    def files(self, run: Handover) -> dict[str, str]:
        """Its YAML."""
        settings = {
            "recipe": "TrainFinetuneRecipeForNextTokenPrediction",
            "seed": run.seed,
            "step_scheduler": {
                "global_batch_size": run.samples,
                "local_batch_size": run.micro_samples,
                "max_steps": run.steps,
                "num_epochs": 1,
                "ckpt_every_steps": run.evaluate_every,
                "val_every_steps": run.evaluate_every,
            },
            "dist_env": {"backend": "nccl"},
            "distributed": {"strategy": "fsdp2", "dp_size": "none", "tp_size": 1, "cp_size": 1},
            "model": {
                "_target_": "nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained",
                "pretrained_model_name_or_path": BASE,
            },
            "checkpoint": {
                "enabled": True,
                "checkpoint_dir": OUT,
                "model_save_format": "safetensors",
                "save_consolidated": True,
            },
            "loss_fn": {
                "_target_": "nemo_automodel.components.loss.masked_ce.MaskedCrossEntropy",
                "reduction": "sum",
            },
            "clip_grad_norm": {"max_norm": run.clip},
            "dataset": _dataset(run, "blend.json", "train"),
            "dataloader": _LOADER,
            **{
                f"validation_dataset_{lang}": _dataset(
                    run, {"validation": [f"{DATA}/{lang}/valid"]}, "validation"
                )
                for lang in run.held_out
            },
            "validation_dataloader": _LOADER,
            "optimizer": {
                "_target_": "torch.optim.AdamW",
                "lr": run.learning_rate,
                "betas": list(run.betas),
                "eps": run.epsilon,
                "weight_decay": run.weight_decay,
            },
            "lr_scheduler": _schedule(run),
        }
        return {"config.yaml": yaml_text(settings, "micro-batches are of one GPU")}

    def command(self, run: Handover, *, nodes: int) -> str:
        """By its own command, or by torchrun on several nodes."""
        if nodes == 1:
            return "automodel config.yaml"
        start = f"torchrun --nnodes {nodes} --nproc-per-node gpu $RENDEZVOUS"
        return f"{start} -m nemo_automodel.cli.app config.yaml"

    def limits(self, run: Handover) -> list[str]:
        """Of both that read Megatron's shards."""
        return [*_LIMITS]


def _dataset(run: Handover, paths: Any, split: str) -> dict[str, Any]:
    return {
        "_target_": _DATASET,
        "paths": paths,
        "index_mapping_dir": "index",
        "tokenizer": {
            "_target_": _TOKENIZER,
            "pretrained_model_name_or_path": BASE,
        },
        "seq_length": run.context,
        "seed": run.seed,
        "splits_to_build": split,
    }


def _schedule(run: Handover) -> dict[str, Any]:
    """The schedule by Megatron's names."""
    schedule = {
        "lr_decay_style": run.schedule.upper() if run.schedule == "wsd" else run.schedule,
        "lr_warmup_steps": run.warmup,
        "lr_decay_steps": run.steps,
        "min_lr": run.final * run.learning_rate,
    }
    if run.schedule == "wsd":
        schedule |= {"wsd_decay_steps": run.decay, "lr_wsd_decay_style": "linear"}
    return schedule


_LIMITS = (
    "It shuffles samples by its own seed, so no batch is the same as here; the shares are.",
    "A sample may begin in the middle of a text and has no token before it.",
)

_BRIDGE = '''"""Continue the base on the shards by Megatron-Bridge; started by torchrun."""

import json

from megatron.bridge import AutoBridge
from megatron.bridge.training.config import (
    CheckpointConfig,
    ConfigContainer,
    GPTDatasetConfig,
    LoggerConfig,
    OptimizerConfig,
    SchedulerConfig,
    TokenizerConfig,
    TrainingConfig,
)
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.pretrain import pretrain


def blend(name):
    words = json.load(open("blend.json"))[name]
    weighted = name == "train"
    paths, weights = (words[1::2], [*map(float, words[::2])]) if weighted else (words, None)
    return paths, weights


model = AutoBridge.from_hf_pretrained("{base}").to_megatron_provider()
model.seq_length = {context}
settings = ConfigContainer(
    model=model,
    train=TrainingConfig(
        train_iters={steps},
        global_batch_size={samples},
        micro_batch_size={micro_samples},
        eval_interval={evaluate_every},
        eval_iters=8,
    ),
    optimizer=OptimizerConfig(
        optimizer="adam",
        lr={learning_rate!r},
        min_lr={min_lr!r},
        weight_decay={weight_decay!r},
        adam_beta1={beta1!r},
        adam_beta2={beta2!r},
        adam_eps={epsilon!r},
        clip_grad={clip!r},
        bf16=True,
    ),
    scheduler=SchedulerConfig(
        lr_decay_style="{style}",
        lr_warmup_iters={warmup},
        lr_decay_iters={steps},{wsd}
    ),
    dataset=GPTDatasetConfig(
        random_seed={seed},
        sequence_length={context},
        blend_per_split=[blend("train"), blend("valid"), blend("test")],
        reset_position_ids=False,
        reset_attention_mask=False,
        eod_mask_loss=False,
    ),
    tokenizer=TokenizerConfig(tokenizer_type="HuggingFaceTokenizer", tokenizer_model="{base}"),
    checkpoint=CheckpointConfig(save="{out}", save_interval={evaluate_every}),
    logger=LoggerConfig(log_interval=1, tensorboard_dir="{out}/tensorboard"),
)

if __name__ == "__main__":
    pretrain(settings, forward_step)
'''


@ENGINES.add
class MegatronBridge(Engine):
    """A script of Megatron-Bridge."""

    name: ClassVar[str] = "megatron-bridge"
    summary: ClassVar[str] = "NeMo Megatron-Bridge, as a script"
    form: ClassVar[Form] = "shards"
    schedules: ClassVar[tuple[str, ...]] = ("cosine", "linear", "wsd")

    def files(self, run: Handover) -> dict[str, str]:
        """The script."""
        schedule = _schedule(run)
        wsd = f'\n        lr_wsd_decay_iters={run.decay},\n        lr_wsd_decay_style="linear",'
        values = {name: getattr(run, name) for name in run.__dataclass_fields__}
        values |= {"beta1": run.betas[0], "beta2": run.betas[1], "min_lr": schedule["min_lr"]}
        values |= {"style": schedule["lr_decay_style"], "base": BASE, "out": OUT}
        return {"train.py": _BRIDGE.format(**values, wsd=wsd if run.schedule == "wsd" else "")}

    def command(self, run: Handover, *, nodes: int) -> str:
        """By torchrun."""
        many = f"--nnodes {nodes} $RENDEZVOUS " if nodes > 1 else ""
        return f"torchrun {many}--nproc-per-node gpu train.py"

    def limits(self, run: Handover) -> list[str]:
        """Its checkpoints are Megatron's."""
        back = "Its checkpoints become a Hugging Face folder by `AutoBridge.export_ckpt`."
        return [*_LIMITS, back]
