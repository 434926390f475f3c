"""Options, recipe keys and names that are gone, each with what to use instead, in a sentence."""

import re

_ROLES = ("params", "tokens", "loss", "flops", "unique", "replay", "start", "experts")
_ROLES += ("run", "strategy", "lang")

# `verb --option`.
OPTIONS: dict[str, str] = {
    "study --pilot": "leave it out; the recipe's `pilot` section says it",
    **{
        f"{verb} --{setting}": f"write `--launcher slurm:{setting}=…`"
        for verb in ("prepare", "study", "experts train", "evaluate")
        for setting in ("partition", "time")
    },
    "study --where": "override the lists, as in `study.shapes=[0.1M]`; other runs stay",
    "study --dry-run": "`tongues check` shows its runs, and its own first line how long they take",
    "experts train --dry-run": "`tongues check` shows its runs, its own first line how long",
    "experts partition --distances": "list the clusters in a file, and write `by: file`",
    "fit --drop-highest": "use `--where`, as in `--where 'loss < 4'`",
    "fit --delta": "1e-3 is used",
    "fit --tie": "hold parameters at a value by `--fix`",
    "fit --narrow-at": "add runs of other sizes and lengths",
    **{f"fit --{role}": f"write `--column {role}=NAME`" for role in _ROLES},
    "plan --prices": "give the price of a GPU-hour by `--price`",
    "plan --grid": "the record of a run has its kWh; multiply by your grid's CO₂",
    "plan --flops": "write `--budget '1e21 FLOPs'`",
    "plan --hours": "write `--budget '72 hours'`, or `'3 days'`",
    "plan --cost": "write `--budget '5000 US$'`",
    "plan --tokens": "write `--budget '40B tokens'`",
    "plan --target-loss": "give a budget; forecasts are less sure than any loss to reach",
    "plan --available-tokens": "write `--available-text '200M tokens'`",
    "plan --target": "name the language of the laws by `--language`",
    "plan --for": "the recipe names text by `--language` and `--available-text FOLDER`",
    "plan --bytes-per-token": "name the base's folder and a file of text, and they are counted",
    "plan --source-loss": "it is taken from the runs of the law of forgetting",
    "plan --verbose": "`--why` says what the answer rests on",
    "generate --frequency-penalty": "export the model; llama.cpp and vLLM have it",
    "generate --presence-penalty": "export the model; llama.cpp and vLLM have it",
    "export --allow-worse": "only the mean of experts was refused, and mergekit makes means",
    "export --experts-per-token": "set `num_experts_per_tok` in the exported config.json",
    "export --law": "the file of `tongues fit -o` holds the laws; publish it beside the model",
    "export --llama-cpp": "name the source of llama.cpp in the environment, as LLAMA_CPP",
    "export --of": "the base is the run's; put it back where the run found it",
    **{
        f"export --{word}": "mergekit averages models; `export --step` writes a milestone"
        for word in ("average", "last", "weights")
    },
    "serve --engine": "llama.cpp serves a GGUF file itself, by `llama-server -m FILE`",
    "serve --lenient": "leave out the parameters that answers with status 400 name",
    "serve --max-cache": "it is a quarter of the memory, of the machine or of the GPU",
    "serve --max-queue": "64 completions may wait; more are answered with status 429",
    "evaluate --fewshot-seeds": "examples are drawn five times, or once for tasks of lm-eval",
    "evaluate --identifier": "language confusion is no longer measured",
    "evaluate --normalisation": "choices are compared by tokens; lm-eval's tasks have `acc_norm`",
    "evaluate --on-error": "items that cannot be scored are skipped, counted and named",
    "evaluate --seed": "items and examples are the same in every evaluation",
    "evaluate --stride": "windows do not overlap; set `--window`",
    "evaluate --templates": "tasks of lm-eval ask in the language: `--tasks lm-eval:xnli_sw`",
    "languages --country": "`--json` names the countries of every language",
    "languages --limit": "`--json` has all languages",
    **dict.fromkeys(("languages --out", "languages -o"), "`--json` has all that a page had"),
    "new --machine": "name GPUs by `--gpu h100 --gpus 8`",
    "demo --overwrite": "name another folder by `--workspace`",
}

# The kind and name of an object of an open kind.
NAMES: dict[str, str] = {
    "launcher ray": "use `local`, or `slurm:partition=…` on a cluster; a package can add others",
}

# The path of a key. The places of items in lists are left out; `*` is any one name.
KEYS: dict[str, str] = {
    "pilot.source_budget": "leave it out; bases train as long as the longest small run",
    "pilot.max_forgetting": "leave it out; a study with `replay` shows what is forgotten",
    "pilot.shapes": "leave it out; the share says how large the small runs are",
    "pilot.seeds": "leave it out; the small runs have `train.seed`",
    "train.tasks": "keep `train.milestones`, and score what `tongues export --step` makes of them",
    "train.base.revision": "write it behind the model: `base: org/name@revision`",
    "train.clip": "leave it out: gradients are always clipped to a norm of 1",
    "train.embedding_learning_rate": "leave it out: embeddings learn at `learning_rate`",
    "train.embedding_warmup": "leave it out: all weights learn from the first step",
    "train.frozen_layers": "leave it out, or train low-rank updates: `trainable: lora`",
    "train.keep_checkpoints": "leave it out: two are kept; `milestones` keeps others for good",
    "train.on_spike": "leave it out: spikes are logged, and only NaN ends a run",
    "train.schedule.cooldown": "use `schedule: wsd`, constant until its decay",
    "train.schedule.plateau": "use `schedule: wsd`, constant until its decay",
    "train.trainable.lora.alpha": "leave it out: it is twice the rank",
    "train.trainable.lora.dora": "leave it out: plain LoRA is trained",
    "train.trainable.lora.targets": "leave it out: all matrices of the layers are updated",
    "train.mixture.weights": "leave it out: the loss on each language counts the same",
    "train.z_loss": "leave it out: the loss is cross-entropy alone",
    "text.clean.paragraphs": "remove repeated paragraphs before, for instance by datatrove",
    "text.clean.passages": "leave it out: documents that are mostly foreign are dropped",
    "text.clean.private": "replace private data before, for instance by datatrove or presidio",
    "tokens.sampling": "leave it out: every language gives as much",
    "text.clean.words": "leave it out, or teach the language filter by `text.clean.sample`",
    "text.clean.listed_words": "leave it out, or teach the language filter by `text.clean.sample`",
    "experts.partitions.distances": "list the clusters in a file, and write `by: file`",
    "experts.budget.weights": "a budget is `even` or `by text`, with `max_epochs` as a limit",
    "study.stop_early": "leave it out; `tongues ls` forecasts where each run will end",
    "train.teacher": "distillation showed no gain; train on the text alone",
}


def instead_of_key(path: list[str]) -> str:
    """What to use instead of the key at this path; empty where it never was one."""
    names = [name for name in path if not name.isdigit()]
    for key, instead in KEYS.items():
        pattern = ".".join("[^.]+" if name == "*" else re.escape(name) for name in key.split("."))
        if re.fullmatch(pattern, ".".join(names)):
            return instead
    return ""
