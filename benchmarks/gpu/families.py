"""Stages: mixtures of experts, soft caps, low-rank updates, and documents apart."""

from collections import Counter
from typing import Any

from common import Bench, measure, set_up
from torch.utils._python_dispatch import TorchDispatchMode

from tongues.train.step import BatchLoader, gradient

MOE = {  # 0.5B parameters, a third of them active
    "hidden_size": 1024,
    "intermediate_size": 2048,
    "moe_intermediate_size": 512,
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "num_experts": 32,
    "num_experts_per_tok": 4,
    "max_position_embeddings": 2048,
}
GEMMA2 = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "query_pre_attn_scalar": 128,
    "sliding_window": 1024,
    "max_position_embeddings": 2048,
}
SMALL = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "moe_intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "num_experts": 4,
    "num_experts_per_tok": 2,
}


class Products(TorchDispatchMode):
    """Counts the grouped products of a step, by the type of what they multiply."""

    def __init__(self) -> None:
        super().__init__()
        self.types: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if "grouped_mm" in name:
            self.types[f"{name} in {str(args[0].dtype).removeprefix('torch.')}"] += 1
        return func(*args, **(kwargs or {}))


def _config(bench: Bench, config: dict[str, Any]) -> dict[str, Any]:
    small = {key: value for key, value in SMALL.items() if key in config}
    return config | (small if bench.rehearse else {})


def moe(bench: Bench) -> None:
    """Experts of a qwen3_moe: in which type their products are, and how fast."""
    base = bench.base("moe", "qwen3_moe", _config(bench, MOE), "bench")
    with bench.attempt("qwen3_moe products"):
        plan = bench.plan(
            "train.compile=off", f"train.batch={2 * bench.sizes.context} tokens", base=base
        )
        setup, _ = set_up(bench, plan, base, "qwen3_moe")
        with Products() as products:
            gradient(setup, BatchLoader(setup), 0, ())
        found = ", ".join(f"{count} x {name}" for name, count in products.types.items())
        bench.say(f"qwen3_moe: {found or 'no grouped products: experts are computed otherwise'}")
        if bench.device.type == "cuda":
            narrow = products.types and all("bfloat16" in name for name in products.types)
            bench.check("grouped products are in bfloat16", bool(narrow))
        del setup
    with bench.attempt("qwen3_moe"):
        measure(bench, "qwen3_moe", bench.plan(base=base), base)


def gemma2(bench: Bench) -> None:
    """Soft caps: the attention that is chosen, and eager attention."""
    base = bench.base("gemma2", "gemma2", _config(bench, GEMMA2), "bench")
    size = f"train.micro_batch={4 * bench.sizes.context} tokens"
    for label, changes in (
        ("gemma2 compiled", ()),
        ("gemma2 not compiled", ("train.compile=off",)),
    ):
        with bench.attempt(label):
            measure(bench, label, bench.plan(size, *changes, base=base), base)
    with bench.attempt("gemma2 eager"):
        plan = bench.plan(size, "train.compile=off", base=base)
        measure(bench, "gemma2 eager, not compiled", plan, base, attention="eager")


def lora(bench: Bench) -> None:
    """Low-rank updates, and documents that do not see one another."""
    for label, changes in (
        ("LoRA of rank 16", ("train.trainable={lora: {rank: 16}}",)),
        ("documents apart", ("train.cross_document_attention=false",)),
        (
            "LoRA, documents apart, recompute",
            (
                "train.trainable={lora: {rank: 16}}",
                "train.cross_document_attention=false",
                "train.recompute=true",
                "train.compile=off",
            ),
        ),
    ):
        with bench.attempt(label):
            measure(bench, label, bench.plan(*changes, base=bench.smollm2), bench.smollm2)
