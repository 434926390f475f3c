"""Trains by NeMo AutoModel, in the environment that has it: `automodel.py ARGUMENT…`.

Needs the folder of `tongues export --for automodel` to be the current one. The first batch and its
labels are kept in `first.pt`. AutoModel asks for CUDA alone; without one its questions are answered
for the processor, and nothing else of it is changed.
"""

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import torch

ALONE = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost"}


class _OnProcessor(ModuleType):
    """PyTorch, where each device is the processor."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    @staticmethod
    def device(*given: Any) -> torch.device:
        """The only one."""
        return torch.device("cpu")


def answer_for_the_processor() -> None:
    """Take the questions of CUDA that a run cannot do without."""
    auto_model: Any = import_module("nemo_automodel._transformers.auto_model")

    processor = torch.device("cpu")
    torch.cuda.current_device = lambda: processor
    torch.cuda.max_memory_allocated = lambda *given: 0
    torch.cuda.reset_peak_memory_stats = torch.cuda.empty_cache = lambda *given: None
    auto_model.torch = _OnProcessor("torch")


def main() -> None:
    """Train as `config.yaml` says, changed by the arguments."""
    os.environ |= {"MASTER_PORT": "29533", "HF_HUB_OFFLINE": "1"} | ALONE
    reader: Any = import_module("nemo_automodel.components.config._arg_parser")
    recipes: Any = import_module("nemo_automodel.recipes.llm.train_ft")

    words = sys.argv[1:]
    if not torch.cuda.is_available():
        answer_for_the_processor()
        words += ["--dist_env.backend=gloo"]
    settings = reader.parse_args_and_load_config("config.yaml", argv=words)
    recipe = recipes.TrainFinetuneRecipeForNextTokenPrediction(settings)
    recipe.setup()
    first: dict[str, torch.Tensor] = {}

    def keep(_: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        for name in ("input_ids", "labels"):
            if isinstance(named.get(name), torch.Tensor) and name not in first:
                first[name] = named[name].detach().cpu().clone()
        if len(first) == 2:
            torch.save(first, "first.pt")

    recipe.model_parts[0].register_forward_pre_hook(keep, with_kwargs=True)
    recipe.loss_fn.register_forward_pre_hook(keep, with_kwargs=True)
    recipe.run_train_validation_loop()


if __name__ == "__main__":
    main()
