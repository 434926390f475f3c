"""Models used: scored, served, asked to write, exported."""

import os
import shlex
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tongues.errors import UserError
from tongues.files import read_json
from tongues.ranks import stop_on_sigterm
from tongues.roles import list_languages
from tongues.verbs.shared import Voice, listed, memory_bytes

if TYPE_CHECKING:
    from tongues.experts.ensemble.generate import Generation


Dtype = Literal["bf16", "fp16", "fp32"]
_EXAMPLE = Path(__file__).parents[1] / "serve/example"
KEY = "TONGUES_API_KEY"  # in the environment: the API key of a server


def generate(
    model: str,
    prompts: str | Sequence[str] = (),
    workspace: Path | str = ".",
    *,
    routing: str | None = None,
    language: str | None = None,
    max_tokens: int | None = None,
    n: int = 1,
    stop: Sequence[str] = (),
    temperature: float = 0.8,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    max_memory: int | str | None = None,
    device: str | None = None,
    dtype: Dtype | None = None,
) -> "Generation":
    """Continue each prompt with a model: an ensemble, a run, a Hugging Face folder or a hub id.

    prompts: texts; without one, a text is generated from its beginning.
    routing: of an ensemble, such as `filter:1` (the default) or `tfidf:2`.
    language: of the text, for the routing `language`.
    max_tokens: to generate; None: 64, or what the model's context leaves.
    n: completions of each prompt.
    stop: strings that end a completion.
    temperature: 0 takes the most probable token. top_k, top_p: sample from this number of most
        probable tokens, or from the smallest set with this probability.
    max_memory: for expert weights, in bytes or as `2GB`.
    device, dtype: where and in what type models compute, such as `cuda:1` and `bf16`; None: every
        GPU, or the processor; bf16 on GPUs that have it, else fp32.
    """
    from tongues.experts.ensemble.lineage import read_lineage
    from tongues.experts.ensemble.places import resolve_model
    from tongues.experts.ensemble.request import Sampling
    from tongues.experts.ensemble.routing import check_experts, parse_routing

    held = memory_bytes(max_memory)
    sampling = Sampling(temperature, top_k, top_p, seed)
    kind, folder, _, _ = resolve_model(model, Path(workspace))  # refusals need no torch
    lineage = read_lineage(folder) if kind == "ensemble" else None
    if language and not lineage:
        what = f"`{model}` is one model, and has no experts to choose by the language of the text"
        raise UserError(
            what, where="--language", hint="leave it out; it continues the language of the prompt"
        )
    k, way = len(lineage.experts) if lineage else 1, None
    if routing or (language and k > 1):
        way = parse_routing(routing or "language")
        check_experts(way, k)
        if lineage and way.needs_language and language:
            lineage.number_of(language)
    from tongues.experts.ensemble.generate import continue_texts
    from tongues.experts.ensemble.model import open_model

    placed = {"device": device, "dtype": dtype}
    opened = open_model(model, Path(workspace), max_memory=held, **placed)
    return continue_texts(
        opened,
        [text for text in listed(prompts) or [""] for _ in range(n)],
        way or opened.routing,
        max_tokens=max_tokens,
        language=language,
        sampling=sampling,
        stop=stop,
    )


def serve(
    models: str | Sequence[str] = (),
    workspace: Path | str = ".",
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    key_file: Path | str | None = None,
    allow_host: Sequence[str] = (),
    max_memory: int | str | None = None,
    device: str | None = None,
    dtype: Dtype | None = None,
    max_batch: int = 16,
    max_tokens: int = 1024,
    timeout: float = 120.0,
    example: bool = False,
    ready: Callable[[str], None] | None = None,
    quiet: bool = False,
) -> None:
    """Serve models by OpenAI's API, and on a page to try them; returns when it is stopped.

    models: ensembles, runs, Hugging Face folders or hub ids (`org/name@revision`);
        `NAME@tfidf:2` sets an ensemble's routing.
    host, port: where to listen; port 0 takes any that is free.
    key_file: holds the API key of requests; or it is in TONGUES_API_KEY.
    allow_host: names of this server that requests may use.
    max_memory: for expert weights, in bytes or as `2GB`.
    device, dtype: as of `generate`.
    max_batch: completions at a time. max_tokens: of a completion. timeout: of a request, in
        seconds.
    example: serve a small ensemble of synthetic languages that comes with the package.
    ready: called with the address once requests are answered; None says it on standard error.
    """
    from tongues.experts.ensemble.places import place_of

    names, say = listed(models), Voice(quiet).say
    if example and names:
        raise UserError("takes no MODEL: it is served alone", where="--example")
    if example:
        names, workspace = ["example"], _EXAMPLE
    if not names:
        hint = "name a MODEL, or try `tongues serve --example`"
        raise UserError("there is nothing to serve", where="serve", hint=hint)
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"`{twice[0]}` is named twice", hint="once is enough")
    key = _key(None if key_file is None else Path(key_file))
    held = memory_bytes(max_memory)
    for name in names:  # what is not there needs no torch
        if Path(name).suffix == ".gguf":
            hint = f"`{shlex.join(['llama-server', '-m', name])}` serves it"
            raise UserError("is a file of llama.cpp", where=name, hint=hint)
        place_of(name, Path(workspace))
    from tongues.serve.refusal import Limits
    from tongues.serve.server import address, listen, run

    listening = listen(host, port, keyed=key is not None)  # a refusal before models are opened
    before = stop_on_sigterm()  # while models are opened
    say(f"opening {list_languages(names)}")
    from tongues.serve.app import App  # with torch, which takes seconds
    from tongues.serve.engine import Engine
    from tongues.serve.opening import open_served

    limits = Limits(tokens=max_tokens, running=max_batch, seconds=timeout)
    placed = {"max_memory": held and held // len(names), "device": device, "dtype": dtype}
    with ExitStack() as closing:
        if before is not None:
            closing.callback(signal.signal, signal.SIGTERM, before)
        closing.callback(listening.close)
        opened, rules = open_served(names, Path(workspace), say=say, **placed)
        for each in rules.values():
            closing.callback(each.close)
        room = min(model.ensemble.models.placement.memory for model in opened.values())
        engine = Engine(opened, running=max_batch, queued=limits.queued, memory=room // 4)
        app = App(
            opened,
            engine,
            limits,
            key=key,
            hosts=frozenset(name.lower() for name in (*allow_host, host, socket.gethostname())),
            rules=rules,
            examples={"example": read_json(_EXAMPLE / "examples.json")} if example else {},
        )
        engine.start()
        closing.callback(engine.close)
        run(
            app,
            listening,
            ready=lambda: (ready or say)(address(listening)),
            waiting=lambda answers: say(f"{answers} to be finished; Ctrl+C again ends at once"),
        )


def _key(file: Path | None) -> str | None:
    if file is None and not os.environ.get(KEY, "").strip():
        return None
    where = KEY if file is None else str(file)
    try:
        key = (os.environ[KEY] if file is None else file.read_text(encoding="utf-8")).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"cannot be read ({reason})", where=where) from None
    if not (key.isascii() and key.isprintable()) or not key or " " in key:
        hint = "such as `python -c 'import secrets; print(secrets.token_urlsafe())'` makes"
        raise UserError("is not a key: one line of letters and digits", where=where, hint=hint)
    return key


def export(
    model: str,
    out: Path | str,
    workspace: Path | str = ".",
    *,
    step: int | None = None,
    moe: bool = False,
    dtype: Dtype | None = None,
    add_chat: Path | str | None = None,
    chat_weight: float | None = None,
    gguf: bool = False,
    quiet: bool = False,
) -> Path:
    """Write a run or an ensemble as Hugging Face folders, each with a model card; returns `out`.

    step: of a run's checkpoint or milestone; None: where it ended, or the newest.
    moe: one model: an ensemble's experts as a mixture of experts that transformers has itself.
    dtype: of the stored weights; None: the base's own.
    add_chat: folder of a model that was tuned to follow instructions; what that changed in its
        base is added to a run's model.
    chat_weight: of that change; None: chosen by held-out text.
    gguf: writes a run for llama.cpp too, by the source of llama.cpp that LLAMA_CPP names, and
        compares its token ids on held-out text.
    """
    workspace, folder = Path(workspace), Path(out)
    kind, place = _run_or_ensemble(model, workspace)
    if moe and kind == "run":
        what = "is of an ensemble's experts, and this is a run"
        raise UserError(what, where="--moe", hint="`tongues ls` shows ensembles below the runs")
    if chat_weight is not None and add_chat is None:
        raise UserError("is of a chat model", where="--chat-weight", hint="add `--add-chat`")
    from tongues.report.evaluation.view import newest_scores

    evaluated, say = partial(newest_scores, workspace=workspace), Voice(quiet).say
    if kind == "run":
        from tongues.export.run import Changes, export_run

        changes = Changes(step, dtype, Path(add_chat) if add_chat else None, chat_weight, gguf)
        export_run(place, workspace, folder, changes, evaluated=evaluated(place), say=say)
        return folder
    if step is not None:
        what = "is an ensemble, whose experts each have steps of their own"
        raise UserError(what, where=model, hint="export the run of one expert by itself")
    if add_chat is not None or gguf:
        what = "is an ensemble; `--add-chat` and `--gguf` are of one run"
        raise UserError(what, where=model, hint="export the run of one expert by itself")
    from tongues.export.experts import export_ensemble, export_moe

    if moe:
        export_moe(place, workspace, folder, evaluated=evaluated, dtype=dtype, say=say)
    elif dtype is not None:
        what = "is of one model; the experts of an ensemble are known by their bytes"
        raise UserError(what, where="--dtype", hint="add `--moe`, or export one run")
    else:
        export_ensemble(place, workspace, folder, evaluated=evaluated)
    return folder


def _run_or_ensemble(model: str, workspace: Path) -> tuple[Literal["run", "ensemble"], Path]:
    from tongues.experts.ensemble.places import find_model
    from tongues.runs import read_run

    places = (workspace / "runs" / model, Path(model))
    begun = [x for x in places if (x / "run.json").is_file() and not (x / "model").is_dir()]
    kind, place = ("run", begun[0]) if begun else find_model(model, workspace, hub=False)
    if kind == "folder":
        hint = "name a run or an ensemble; `tongues ls` shows them"
        raise UserError("is a Hugging Face folder already", where=model, hint=hint)
    if kind == "run":
        read_run(place)  # an error where it is damaged
    return kind, place
