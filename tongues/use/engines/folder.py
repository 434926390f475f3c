"""The folder that another trainer is handed: base, text, settings, and how to start."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tongues.core.files import append_line, read_json, write_json
from tongues.core.pages import CARD, Items, Paragraph, Table, as_markdown
from tongues.models.folders import read_config
from tongues.text.tokens import Tokens, load_tokenizer, vocabulary_size
from tongues.train.export import new_folder
from tongues.train.transplant import held_out_texts
from tongues.use.engines.engine import (
    BASE,
    DATA,
    HELD_OUT,
    OUT,
    Engine,
    Handover,
    handover,
)
from tongues.use.engines.samples import Show, link_shards, write_documents, write_packed
from tongues.use.export.base import ReadyRun, Say, write_base

_PADDING = "<|pad|>"
_NODES = 4  # of the example for several

_CLUSTERS = {
    "slurm.sh": """\
#!/bin/bash
#SBATCH --nodes={nodes} --ntasks-per-node=1 --gpus-per-node=8
head=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
export RENDEZVOUS="--rdzv-backend=c10d --rdzv-endpoint=$head:29500"
srun bash -c '{command}'
""",
    "sky.yaml": """\
num_nodes: {nodes}
resources: {{accelerators: "H100:8"}}
workdir: .
run: |
  head=$(echo "$SKYPILOT_NODE_IPS" | head -n 1)
  export RENDEZVOUS="--rdzv-backend=c10d --rdzv-endpoint=$head:29500"
  {command}
""",
}


def hand_over(
    ready: ReadyRun,
    engine: type[Engine],
    workspace: Path,
    folder: Path,
    dtype: str | None,
    say: Say,
    show: Show,
) -> None:
    """Write the folder, whole or not at all; a UserError where the engine can't do the run."""
    run, tokens, trainer = handover(ready, engine), ready.here.tokens, engine()
    with new_folder(folder) as aside:
        if engine.form == "documents":
            write_documents(tokens, aside)
        else:
            base = aside / BASE
            base.mkdir()
            write_base(ready, workspace, base, dtype, say)
            run = replace(run, padded=_name_padding(base))
            if engine.form == "packed":
                write_packed(ready, run, aside, show, labels=engine.labels)
            else:
                link_shards(tokens, run, aside)
            _write_held_out(tokens, run, aside / HELD_OUT)
            many = {"nodes": _NODES, "command": trainer.command(run, nodes=_NODES)}
            clusters = {name: form.format(**many) for name, form in _CLUSTERS.items()}
            for name, content in (trainer.files(run) | clusters).items():
                (aside / name).write_text(content, encoding="utf-8")
            limits = [*_limits(ready, engine), *trainer.limits(run)]
            about = _readme(folder.name, run, trainer, limits)
            (aside / CARD).write_text(about, encoding="utf-8")


def _name_padding(base: Path) -> bool:
    """Whether padding has a token of its own: engines leave out its losses, so no text may have it.

    Named is a special token that text never has, or a new one in a spare row of the matrix.
    """
    file, tokenizer = base / "tokenizer_config.json", load_tokenizer(base / "tokenizer.json")
    settings = read_json(file) if file.is_file() else {}
    used = {_content(settings.get(name)) for name in ("bos_token", "eos_token", "unk_token")}
    if _content(settings.get("pad_token")) not in (None, *used):
        return True
    every = tokenizer.get_added_tokens_decoder().values()
    spare = [token.content for token in every if token.special and token.content not in used]
    if not spare and read_config(base)["vocab_size"] > vocabulary_size(tokenizer):
        tokenizer.add_special_tokens([_PADDING])
        tokenizer.save(str(base / "tokenizer.json"))
        spare = [_PADDING]
    if spare:
        write_json(file, settings | {"pad_token": spare[-1]})
    return bool(spare)


def _content(token: str | Mapping[str, str] | None) -> str | None:
    return token["content"] if isinstance(token, Mapping) else token


def _write_held_out(tokens: Tokens, run: Handover, folder: Path) -> None:
    """The held-out text, by which an imported run gets its bytes per token."""
    folder.mkdir()
    tokenizer = load_tokenizer(tokens.tokenizer_path)
    for lang in run.held_out:
        for text in held_out_texts(tokens, tokenizer, lang):
            append_line(folder / f"{lang}.jsonl", {"text": text})


def _limits(ready: ReadyRun, engine: type[Engine]) -> list[str]:
    settings, found = ready.plan.settings, list[str]()
    if settings.max_forgetting:
        found.append("It holds no limit of forgetting: the shares stay as planned.")
    if not settings.cross_document_attention:
        found.append("Documents of a sample attend to each other.")
    if engine.form == "packed":
        found.append("A run that stops resumes by its own checkpoints, not to the same bytes.")
    return found


def _readme(name: str, run: Handover, trainer: Engine, limits: list[str]) -> str:
    text = {
        "packed": f"{run.steps * run.samples:,} samples of {run.context} tokens, in their order",
        "shards": "tokens in Megatron's layout; `blend.json` has the shares",
        "documents": "",
    }[trainer.form]
    rows = [
        {"here": f"`{BASE}/`", "is": "the base, with a row for each token: see its card"},
        {"here": f"`{DATA}/`", "is": text},
        {"here": f"`{HELD_OUT}/`", "is": "text that is never trained on, by language"},
        *({"here": f"`{name}`", "is": "the settings"} for name in trainer.files(run)),
        {"here": "`slurm.sh`, `sky.yaml`", "is": f"to start it on {_NODES} nodes of 8 GPUs"},
    ]
    mixture = " ".join(f"--mixture {lang}={share:.6g}" for lang, share in run.shares.items())
    known = " ".join(f"--base-language {lang}" for lang in run.base_languages)
    back = f"tongues import {name}/{OUT} --name {run.name}-{trainer.name} {mixture} {known} "
    back += f"--base {name}/{BASE} --held-out {name}/{HELD_OUT} "
    back += f"--batch '{run.samples * run.context} tokens' --context '{run.context} tokens'"
    parts = [
        f"# {run.name}, for {trainer.summary}\n",
        as_markdown([Table.of(rows)]) + "\n",
        "## Start\n",
        f"In this folder:\n\n```\n{trainer.command(run, nodes=1)}\n```\n",
        f"A step reads {run.samples} samples: {run.accumulated} times {run.micro_samples} on one "
        "device. On several, divide the first number by theirs.\n",
        f"On {_NODES} nodes: `sbatch slurm.sh`, or `sky launch sky.yaml`. No cluster was at hand: "
        "both are written by the manuals.\n",
        "## Other than here\n",
        as_markdown([Items(limits)] if limits else [Paragraph("Nothing that is known.")]) + "\n",
        "## Afterwards\n",
        f"In the workspace that this folder came from:\n\n```\n{back}\n```\n",
    ]
    return "\n".join(parts)
