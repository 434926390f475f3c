"""The ensemble of `tongues serve --example`: trained, made small, written into the package.

usage: python benchmarks/example.py

Trains the seed and the four experts of `tongues demo --experts` on smaller models and 512 tokens,
exports the ensemble, stores its weights in bfloat16, and leaves out what serving does not need.
Prints the bytes of each file.
"""

import json
import shutil
import tempfile
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

import tongues
from tongues.experts.ensemble.lineage import (
    best_experts,
    describe_expert,
    read_lineage,
    write_lineage,
)
from tongues.tokens import load_tokenizer, open_tokens

OUT = Path(__file__).resolve().parents[1] / "tongues/serve/example/ensembles/example"
DEMO = Path(str(files("tongues.experts").joinpath("demo")))
KEPT = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")
BEGUN = 16  # tokens
SMALL = ["tokens.vocab_size=512"]


def train(workspace: Path) -> Path:
    """The ensemble, exported; also writes beginnings of held-out texts."""
    seed = tongues.load_recipe(DEMO / "seed.yaml", [*SMALL, "model.shape=0.05M"])
    folder = tongues.prepare(seed, workspace=workspace)
    tokens, tokenizer = open_tokens(folder), load_tokenizer(folder)
    begun = {
        language: tokenizer.decode(tokens.shard(language, "valid").tokens[:BEGUN].tolist())
        for language in tokens.languages
    }
    OUT.parents[1].mkdir(parents=True, exist_ok=True)
    (OUT.parents[1] / "examples.json").write_text(json.dumps(begun, indent=1) + "\n")
    tongues.train(seed, workspace=workspace)
    branched = tongues.load_recipe(DEMO / "experts.yaml", [*SMALL, "train.budget=2M tokens"])
    (ensemble,) = tongues.experts.train(branched, workspace=workspace)
    name = str(ensemble.relative_to(workspace / "ensembles"))
    return tongues.export(name, workspace / "exported", workspace)


def pack(exported: Path) -> None:
    """Write what serving needs, in bfloat16."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    lineage, described = read_lineage(exported), []
    for expert in lineage.experts:
        place = exported / expert.folder
        folder = OUT / min(expert.languages)  # each learned one
        folder.mkdir()
        weights = load_file(place / "model.safetensors")
        rounded = {name: weight.to(torch.bfloat16) for name, weight in weights.items()}
        save_file(rounded, folder / "model.safetensors", {"format": "pt"})
        for name in KEPT:
            if (place / name).is_file():
                shutil.copyfile(place / name, folder / name)
        again = describe_expert(
            min(expert.languages),
            folder,
            OUT,
            languages=expert.languages,
            parent=None,
            run=None,
            tokens=expert.tokens,
        )
        described.append(replace(again, folder=f"./{folder.name}"))
    shutil.copyfile(exported / "router.safetensors", OUT / "router.safetensors")
    experts = tuple(described)
    write_lineage(replace(lineage, experts=experts, languages=best_experts(experts)), OUT)


def main() -> None:
    """Train, pack and list."""
    with tempfile.TemporaryDirectory() as folder:
        pack(train(Path(folder)))
    for file in sorted(OUT.rglob("*")):
        if file.is_file():
            print(f"{file.stat().st_size:>9,}  {file.relative_to(OUT)}")


if __name__ == "__main__":
    main()
