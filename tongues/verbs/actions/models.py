"""Models used: scored, served, asked to write, exported."""

import os
import shlex
import signal
import socket
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tongues.core.errors import UserError
from tongues.core.files import read_json, remove_directory
from tongues.core.ranks import stop_on_sigterm
from tongues.core.roles import list_languages
from tongues.plan.check import check_recipe
from tongues.recipe import load_recipe
from tongues.text.tokens import check_tokens
from tongues.train.work import open_work
from tongues.verbs.models import Export, Generate, Serve
from tongues.verbs.shared import Voice, listed, memory_bytes

if TYPE_CHECKING:
    from tongues.experts.ensemble.generate import Generation


_EXAMPLE = Path(__file__).parents[2] / "use/serve/example"  # two levels up is the package
KEY = "TONGUES_API_KEY"  # in the environment: the API key of a server


def generate(asked: Generate) -> "Generation":
    """Continue each prompt."""
    from tongues.experts.ensemble.lineage import read_lineage
    from tongues.experts.ensemble.places import resolve_model
    from tongues.experts.ensemble.request import Sampling
    from tongues.experts.ensemble.routing import check_experts, parse_routing

    model, workspace, language = asked.model, Path(asked.workspace), asked.language
    held = memory_bytes(asked.max_memory)
    sampling = Sampling(asked.temperature, asked.top_k, asked.top_p, asked.seed)
    kind, folder, _, _ = resolve_model(model, workspace)  # refusals need no torch
    lineage = read_lineage(folder) if kind == "ensemble" else None
    if language and not lineage:
        what = f"`{model}` is one model, and has no experts to choose by the language of the text"
        raise UserError(
            what, where="--language", hint="leave it out; it continues the language of the prompt"
        )
    k, way = len(lineage.experts) if lineage else 1, None
    if asked.routing or (language and k > 1):
        way = parse_routing(asked.routing or "language")
        check_experts(way, k)
        if lineage and way.needs_language and language:
            lineage.number_of(language)
    from tongues.experts.ensemble.generate import continue_texts
    from tongues.experts.ensemble.model import open_model

    placed = {"device": asked.device, "dtype": asked.dtype}
    opened = open_model(model, workspace, max_memory=held, **placed)
    return continue_texts(
        opened,
        [text for text in listed(asked.prompts) or [""] for _ in range(asked.n)],
        way or opened.routing,
        max_tokens=asked.max_tokens,
        language=language,
        sampling=sampling,
        stop=asked.stop,
    )


def serve(asked: Serve) -> None:
    """Serve models until it is stopped."""
    from tongues.experts.ensemble.places import place_of

    names, say, workspace = listed(asked.models), Voice(asked.quiet).say, Path(asked.workspace)
    host, example = asked.host, asked.example
    if example and names:
        raise UserError("takes no MODEL: it is served alone", where="--example")
    if example:
        names, workspace = ["example"], _EXAMPLE
    if not names:
        hint = "name a MODEL, or try `tongues serve --example`"
        raise UserError("there is nothing to serve", where="serve", hint=hint)
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"`{twice[0]}` is named twice", hint="once is enough")
    for origin in asked.allow_origin:
        if origin not in ("*", "null") and "://" not in origin:
            hint = f"write it like `https://{origin}`; `*` is every site"
            raise UserError(f"`{origin}` has no scheme", where="--allow-origin", hint=hint)
    key = _key()
    held = memory_bytes(asked.max_memory)
    for name in names:  # what is not there needs no torch
        if Path(name).suffix == ".gguf":
            hint = f"`{shlex.join(['llama-server', '-m', name])}` serves it"
            raise UserError("is a file of llama.cpp", where=name, hint=hint)
        place_of(name, workspace)
    from tongues.use.serve.refusal import Limits
    from tongues.use.serve.server import Server, address, listen

    listening = listen(host, asked.port, keyed=key is not None)  # refused before models are opened
    before = stop_on_sigterm()  # while models are opened
    say(f"opening {list_languages(names)}")
    from tongues.use.serve.app import App  # with torch, which takes seconds
    from tongues.use.serve.engine import Engine
    from tongues.use.serve.opening import open_served

    limits = Limits(tokens=asked.max_tokens, running=asked.max_batch, seconds=asked.timeout)
    placed = {"max_memory": held and held // len(names)}
    placed |= {"device": asked.device, "dtype": asked.dtype}
    with ExitStack() as closing:
        if before is not None:
            closing.callback(signal.signal, signal.SIGTERM, before)
        closing.callback(listening.close)
        opened, rules = open_served(names, workspace, say=say, **placed)
        for each in rules.values():
            closing.callback(each.close)
        room = min(model.ensemble.models.placement.memory for model in opened.values())
        engine = Engine(opened, running=asked.max_batch, queued=limits.queued, memory=room // 4)
        app = App(
            opened,
            engine,
            limits,
            key=key,
            hosts=frozenset(map(str.lower, (*asked.allow_host, host, socket.gethostname()))),
            origins=frozenset(origin.lower().rstrip("/") for origin in asked.allow_origin),
            rules=rules,
            examples={"example": read_json(_EXAMPLE / "examples.json")} if example else {},
        )
        engine.start()
        closing.callback(engine.close)
        server = Server(
            app,
            ready=lambda: (asked.ready or say)(address(listening)),
            waiting=lambda answers: say(f"{answers} to be finished; Ctrl+C again ends at once"),
        )
        server.answer(listening)


def _key() -> str | None:
    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        hint = "such as `python -c 'import secrets; print(secrets.token_urlsafe())'` makes"
        raise UserError("is not a key: one line of letters and digits", where=KEY, hint=hint)
    return key or None


def export(asked: Export) -> Path:
    """Write a run, an ensemble or the base of a recipe; returns the folder."""
    folder = Path(asked.out).resolve()
    kept = folder.parent / f".{folder.name}.before"
    if asked.overwrite and kept.is_dir() and not folder.exists():
        kept.rename(folder)  # a kill came between
    if not (asked.overwrite and folder.is_dir() and any(folder.iterdir())):
        return _export(asked)
    from tongues.train.export import is_whole

    if not is_whole(folder):
        what = "is no export and nothing else, and is not replaced"
        raise UserError(what, where=str(folder), hint="name another by `-o`, or remove it")
    remove_directory(kept)
    folder.rename(kept)
    try:
        _export(asked)
    except BaseException:
        if not folder.exists():
            kept.rename(folder)
        raise
    remove_directory(kept)
    return folder


def _export(asked: Export) -> Path:
    model, workspace, folder = asked.model, Path(asked.workspace), Path(asked.out)
    dtype, add_chat = asked.dtype, asked.add_chat
    if Path(model).suffix in (".yaml", ".yml"):
        return _export_recipe(asked)
    if asked.engine is not None:
        what = "is of a recipe, whose run is still to come"
        raise UserError(what, where="--for", hint="name the recipe instead of the run")
    kind, place = _run_or_ensemble(model, workspace)
    if asked.moe and kind == "run":
        what = "is of an ensemble's experts, and this is a run"
        raise UserError(what, where="--moe", hint="`tongues ls` shows ensembles below the runs")
    if asked.chat_weight is not None and add_chat is None:
        raise UserError("is of a chat model", where="--chat-weight", hint="add `--add-chat`")
    from tongues.report.evaluation.view import newest_scores

    evaluated, say = partial(newest_scores, workspace=workspace), Voice(asked.quiet).say
    if kind == "run":
        from tongues.use.export.run import Changes, export_run

        changes = Changes(
            asked.step, dtype, Path(add_chat) if add_chat else None, asked.chat_weight, asked.gguf
        )
        export_run(place, workspace, folder, changes, evaluated=evaluated(place), say=say)
        return folder
    if asked.step is not None:
        what = "is an ensemble, whose experts each have steps of their own"
        raise UserError(what, where=model, hint="export the run of one expert by itself")
    if add_chat is not None or asked.gguf:
        what = "is an ensemble; `--add-chat` and `--gguf` are of one run"
        raise UserError(what, where=model, hint="export the run of one expert by itself")
    from tongues.use.export.experts import export_ensemble, export_moe

    if asked.moe:
        export_moe(place, workspace, folder, evaluated=evaluated, dtype=dtype, say=say)
    elif dtype is not None:
        what = "is of one model; the experts of an ensemble are known by their bytes"
        raise UserError(what, where="--dtype", hint="add `--moe`, or export one run")
    else:
        export_ensemble(place, workspace, folder, evaluated=evaluated)
    return folder


def _export_recipe(asked: Export) -> Path:
    """Write the base of a recipe, or all that another trainer needs for its run."""
    workspace, folder = Path(asked.workspace), Path(asked.out)
    of_runs = {"--moe": asked.moe, "--step": asked.step, "--add-chat": asked.add_chat}
    for word, given in of_runs.items():
        if given:
            what = "is of a run that was trained, and this is a recipe"
            raise UserError(what, where=word, hint="train it, then export the run")
    loaded = load_recipe(asked.model)
    if loaded.study or loaded.pilot or loaded.experts:
        what = "is a recipe of many runs, and one is exported"
        raise UserError(what, where=asked.model, hint="name a recipe without such a section")
    checked = check_recipe(open_work(loaded, workspace), here=False, training=False)
    check_tokens(loaded, workspace)
    from tongues.use.export.base import export_base, ready_run

    ((plan, _),) = checked.runs
    voice = Voice(asked.quiet)
    ready = ready_run(plan, workspace, voice.say)
    if asked.engine is None:
        export_base(ready, workspace, folder, asked.dtype, gguf=asked.gguf, say=voice.say)
        return folder
    from tongues.use.engines import ENGINES, hand_over

    engine = ENGINES.find(asked.engine, "--for")
    with voice.progress(plan.name) as show:
        hand_over(ready, engine, workspace, folder, asked.dtype, voice.say, show)
    return folder


def _run_or_ensemble(model: str, workspace: Path) -> tuple[Literal["run", "ensemble"], Path]:
    from tongues.experts.ensemble.places import find_model
    from tongues.runs.record import read_run

    places = (workspace / "runs" / model, Path(model))
    begun = [x for x in places if (x / "run.json").is_file() and not (x / "model").is_dir()]
    kind, place = ("run", begun[0]) if begun else find_model(model, workspace, hub=False)
    if kind == "folder":
        hint = "for GGUF take llama.cpp's `convert_hf_to_gguf.py`; else name a run or an ensemble"
        raise UserError("is a Hugging Face folder already", where=model, hint=hint)
    if kind == "run":
        read_run(place)  # an error where it is damaged
    return kind, place
