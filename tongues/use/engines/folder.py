"""The folder that another trainer is handed: base, text, settings, and how to start."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tongues.core.files import append_line, read_json, write_json
from tongues.core.pages import CARD, Items, Table, as_markdown
from tongues.core.ranks import Say
from tongues.core.terminal import Show
from tongues.models.folders import read_config
from tongues.runs.record import HANDED
from tongues.text.tokens import Tokens, load_tokenizer, vocabulary_size
from tongues.text.tokens.frame import TextFrame
from tongues.train.export import new_folder
from tongues.train.transplant import held_out_texts
from tongues.use.engines.engine import PLACES, Handover, Recipient, filled, handover
from tongues.use.engines.kinds import TEMPLATES
from tongues.use.engines.samples import link_shards, write_documents, write_packed
from tongues.use.export.base import ReadyRun, write_base

_PADDING = "<|pad|>"
_CLUSTERS = ("slurm.sh", "sky.yaml")


def hand_over(
    ready: ReadyRun,
    engine: type[Recipient],
    workspace: Path,
    folder: Path,
    dtype: str | None,
    say: Say,
    show: Show,
) -> None:
    """Write the folder, whole or not at all; a UserError where the engine can't do the run."""
    run, tokens = handover(ready, engine), ready.here.tokens
    with new_folder(folder) as aside:
        if engine.form == "documents":
            write_documents(tokens, aside)
            return
        base = aside / PLACES["base"]
        base.mkdir()
        write_base(ready, workspace, base, dtype, say)
        run = replace(run, padded=_name_padding(base, tokens.frame))
        if engine.form == "packed":
            write_packed(ready, run, aside, show, labels=engine.labels)
        else:
            link_shards(tokens, run, aside)
        _write_held_out(tokens, run, aside / PLACES["held_out"])
        _write_settings(ready, run, engine(), aside, folder.name)


def _name_padding(base: Path, frame: TextFrame) -> bool:
    """Whether padding has a token of its own: engines leave out its losses, so no text may have it.

    Named is a special token that text never has, or a new one in a spare row of the matrix.
    """
    file, tokenizer = base / "tokenizer_config.json", load_tokenizer(base / "tokenizer.json")
    settings = read_json(file) if file.is_file() else {}
    used = {_content(settings.get(name)) for name in ("bos_token", "eos_token", "unk_token")}
    used |= {tokenizer.id_to_token(one) for one in (frame.bos, frame.end) if one is not None}
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


def _write_settings(
    ready: ReadyRun, run: Handover, engine: Recipient, folder: Path, name: str
) -> None:
    """Its settings, how to start it on several nodes, and what to know."""
    values = run.values() | engine.values(run)
    values["command"] = filled(engine.start_many, values)
    facts = {"name": f"{run.name}-{engine.name}", "mixture": run.shares}
    facts |= {"base_languages": run.base_languages}
    facts |= {name: f"{values[name]} tokens" for name in ("batch", "context")}
    write_json(folder / HANDED, facts)
    templates = {file: TEMPLATES / f"{file}.txt" for file in _CLUSTERS}
    for file, template in (templates | {engine.settings: engine.template}).items():
        text = filled(template.read_text(encoding="utf-8"), values)
        (folder / file).write_text(text, encoding="utf-8")
    form = {
        "packed": f"{run.steps * run.samples:,} samples of {run.context} tokens, in their order",
        "shards": "tokens in Megatron's layout; `blend.json` has the shares",
    }[engine.form]
    rows = [
        {"here": "`base/`", "is": "the base, with a row for each token: see its card"},
        {"here": "`data/`", "is": form},
        {"here": "`held_out/`", "is": "text that is never trained on, by language"},
        {"here": f"`{engine.settings}`", "is": "the settings"},
        {"here": "`slurm.sh`, `sky.yaml`", "is": "to start it on several GPUs"},
        {"here": f"`{HANDED}`", "is": "what `tongues import` reads of the run"},
    ]
    values |= {
        "summary": engine.summary,
        "engine": engine.name,
        "start": engine.start,
        "divided": engine.divided,
        "here": name,
        "contents": as_markdown([Table.of(rows)]),
        "limits": as_markdown([Items([*_limits(ready), *engine.limits(run)])]),
    }
    text = (TEMPLATES / "README.md.txt").read_text(encoding="utf-8")
    (folder / CARD).write_text(filled(text, values), encoding="utf-8")


def _limits(ready: ReadyRun) -> list[str]:
    """Of any trainer but ours."""
    settings = ready.plan.settings
    held = "It holds no limit of forgetting: the shares stay as planned."
    joined = "Documents of a sample attend to each other."
    return [
        *([held] if settings.max_forgetting else []),
        *([] if settings.cross_document_attention else [joined]),
    ]
