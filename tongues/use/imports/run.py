"""A run of another trainer as a run of the store, so that every verb reads it as our own.

The user declares what its log does not have: roles, shares, and tokens of a step where the log has
no count. Bytes per token come from the held-out text and the run's own tokenizer.
"""

import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tongues import __version__
from tongues.core.errors import UserError, nearest
from tongues.core.files import append_line, file_hash, fingerprint, read_lines, whole_directory
from tongues.core.ranks import Say
from tongues.models import Anatomy
from tongues.models.anatomy import of_folder
from tongues.recipe import Text
from tongues.runs.record import Base, Run, read_run, write_run
from tongues.text.folder import find_texts, sample_texts
from tongues.text.sources import check_text
from tongues.text.tokens.fertility import measure
from tongues.text.tokens.tokenizer import load_tokenizer
from tongues.train.base import base_fingerprint, find_base, model_folder
from tongues.use.imports.log import LoggedHeldOut, TrainerLog, read_log
from tongues.use.imports.schedule import read_schedule, shown_from

_SAMPLE = 1_000_000  # characters of a language, for its bytes per token
_ALL = 1e-6  # by which shares may miss one in all
_GOES_ON = "it is not at its end: import it again as it goes on"
_RATES = (
    "`tongues ls` forecasts its end; its learning rates to come are taken as {schedule}, to "
    "{min_learning_rate} of the peak"
)
_NO_RATES = "its learning rates so far are of no schedule here, so its end is not forecast"
_WARM = "it is in its warm-up, or just behind: its end is forecast from step {step:,}"


@dataclass(frozen=True, slots=True)
class Declared:
    """What the user declares of a run.

    shares: of all tokens by language. base_languages: what the base knows; those of them in
    `shares` are replayed, all others are learned. held_out: a folder with the held-out text of each
    language. texts: the languages of held-out texts that the trainer names otherwise. batch: tokens
    of a step, None where the log counts them. context: tokens of a sample. model: the trained one,
    where the run's folder has none.
    """

    name: str
    shares: Mapping[str, float]
    held_out: Path
    base: str | None = None
    base_languages: tuple[str, ...] = ()
    texts: Mapping[str, str] | None = None
    batch: int | None = None
    context: int = 2048
    model: Path | None = None
    seed: int = 1


def import_run(folder: Path, declared: Declared, workspace: Path, say: Say) -> Path:
    """Write the run into the store; returns its directory. The run's own folder stays as it is.

    One that was imported before its end is replaced by what its log says now.
    """
    directory = workspace / "runs" / declared.name
    _check_shares(declared)
    log = read_log(folder)
    if directory.exists() and not _goes_on(directory, log):
        what, hint = "there is another run of this name", "choose another name with `--name`"
        raise UserError(what, where=str(directory), hint=hint)
    if declared.model is not None:
        log = replace(log, checkpoints={log.step: declared.model})
    if not log.checkpoints:
        what = "has no checkpoint with config.json and safetensors"
        raise UserError(what, where=str(folder), hint="name a folder of its model by `--model`")
    newest = log.checkpoints[max(log.checkpoints)]
    base = find_base(declared.base, workspace)
    tokenizer = _tokenizer_folder(newest, base)
    languages = _languages(log.held_out, declared)
    known = [loss for loss in log.held_out if loss.text in languages]
    log = replace(log, held_out=known)
    bytes_per_token = _bytes_per_token(declared, sorted(set(languages.values())), tokenizer)
    batch = _batch(log, declared)
    anatomy = of_folder(newest)
    run = _record(log, declared, anatomy, batch, base, tokenizer)
    with whole_directory(directory) as aside:
        write_run(aside, run)
        for line in log.losses:
            row = {"step": line.step, "tokens": line.step * batch, "loss": line.loss}
            row |= {"learning_rate": line.learning_rate, "norm": line.norm}
            append_line(aside / "metrics.jsonl", row)
        for row in _evaluations(log, declared, run, anatomy, languages, bytes_per_token):
            append_line(aside / "evals.jsonl", row)
        append_line(aside / "timing.jsonl", {"step": log.step, "seconds": log.seconds or 0.0})
        if run.status != "finished" or newest == log.checkpoints.get(log.step):
            (aside / "model").symlink_to(newest.resolve(), target_is_directory=True)
    for line in _told(log, run, directory):
        say(line)
    return directory


def _goes_on(directory: Path, log: TrainerLog) -> bool:
    """Whether a run was imported from this log, or when that was shorter."""
    before, logged = read_run(directory), {(line.step, line.loss) for line in log.losses}
    rows = ((row["step"], row["loss"]) for row in read_lines(directory / "metrics.jsonl"))
    imported = before.engine == {"trainer": log.trainer}
    return imported and logged.issuperset(rows)


def _check_shares(declared: Declared) -> None:
    total, where = sum(declared.shares.values()), "--mixture"
    if abs(total - 1.0) > _ALL:
        raise UserError(f"the shares come to {total:.2%}", where=where, hint="they must be 100%")
    if not set(declared.shares) - set(declared.base_languages):
        raise UserError("no language is learned: the base knows all of them", where=where)
    if bool(declared.base) != bool(declared.base_languages):
        what = "a base and the languages that it knows are named together, or neither"
        raise UserError(what, where="--base", hint="such as `--base FOLDER --base-language en`")


def _tokenizer_folder(checkpoint: Path, base: Path | None) -> Path:
    places = [checkpoint, checkpoint.parent, *([model_folder(base)] if base else [])]
    for place in places:
        if (place / "tokenizer.json").is_file():
            return place
    what = "neither the run nor its base has a tokenizer.json"
    raise UserError(what, where=str(checkpoint), hint="copy that of the run into its folder")


def _languages(losses: Sequence[LoggedHeldOut], declared: Declared) -> dict[str, str]:
    """The language of each held-out text of the log."""
    named = {loss.text for loss in losses}
    if not named:
        what = "its log has no loss on held-out text"
        raise UserError(what, where="eval_loss", hint="evaluate during training: `eval_strategy`")
    given = declared.texts or {}
    known = {*declared.shares, *declared.base_languages}
    known |= {path.name.split(".")[0] for path in declared.held_out.iterdir()}
    if named == {""} and not given and len(declared.shares) == 1:
        return {"": next(iter(declared.shares))}
    if named == {""} and not given:
        return {}  # one loss of several languages is none of any
    found = {text: given.get(text, text) for text in sorted(named)}
    for text, lang in found.items():
        if lang not in known:
            what = f"the held-out text `{text or 'eval'}` is of no language that is declared"
            hint = f"say which: `--text-of {text or 'eval'}=LANG`; {nearest(text, known)}"
            raise UserError(what, where="--text-of", hint=hint)
    return found


def _bytes_per_token(
    declared: Declared, languages: Sequence[str], tokenizer: Path
) -> dict[str, float]:
    """Of the held-out text of each language, by the run's tokenizer."""
    if not languages:
        return {}
    files = find_texts(declared.held_out, languages)
    if missing := [lang for lang in languages if lang not in files]:
        hint = f"name a folder with a file or folder for each language, such as {missing[0]}.jsonl"
        what = f"no held-out text of `{missing[0]}`"
        raise UserError(what, where=f"--held-out {declared.held_out}", hint=hint)
    settings = Text.model_validate({"files": {lang: files[lang] for lang in languages}})
    samples = sample_texts(check_text(settings), _SAMPLE)
    titled = {lang: [("", text) for text in texts] for lang, texts in samples.items()}
    measured = measure(load_tokenizer(tokenizer), titled)
    return {lang: one.bytes_per_token for lang, one in measured.items()}


def _batch(log: TrainerLog, declared: Declared) -> int:
    """Tokens of a step."""
    counted = [line for line in log.losses if line.tokens and line.step]
    if counted:
        last = counted[-1]
        return round((last.tokens or 0) / last.step)
    if declared.batch is None:
        what = "the log does not count tokens"
        hint = "say how many a step reads: `--batch '131072 tokens'` (samples × context × devices)"
        raise UserError(what, where="--batch", hint=hint)
    return declared.batch


def _record(
    log: TrainerLog,
    declared: Declared,
    anatomy: Anatomy,
    batch: int,
    base: Path | None,
    tokenizer: Path,
) -> Run:
    known = declared.base_languages
    targets = tuple(lang for lang in declared.shares if lang not in known)
    replay = {lang: share for lang, share in declared.shares.items() if lang in known}
    mark = base_fingerprint(base)
    text = [file_hash(tokenizer / "tokenizer.json"), sorted({x.text for x in log.held_out})]
    rates = [line.learning_rate for line in log.losses if line.learning_rate is not None]
    tokens, context = log.steps * batch, declared.context
    settings = {"context": f"{context} tokens"}
    settings["batch"] = f"{max(1, round(batch / context)) * context} tokens"  # whole samples
    if schedule := read_schedule(log.losses, log.steps):
        settings |= schedule | {"budget": f"{tokens} tokens"}
    return Run(
        run=declared.name,
        fingerprint=fingerprint([log.trainer, str(log.losses), str(log.held_out), mark]),
        status="finished" if log.step >= log.steps else "running",
        strategy="cpt" if base else "scratch",
        base=Base(str(declared.base), known, mark) if base and mark else None,
        targets=targets,
        replay=replay,
        shape=anatomy.name,
        family=anatomy.family,
        params=anatomy.parameters,
        seed=declared.seed,
        steps=log.steps,
        tokens=tokens,
        flops=float(anatomy.flops_per_token(declared.context)) * tokens,
        batch=batch,
        learning_rate=max(rates, default=0.0),  # where its log has none
        shares=dict(declared.shares),
        epochs={},
        foreign=dict.fromkeys(declared.shares),
        vocabulary_extension=None,
        engine={"trainer": log.trainer},
        settings=settings,
        tokens_fingerprint=fingerprint(text),
        versions={"tongues": __version__, "python": platform.python_version()},
        seconds=log.seconds,
    )


def _evaluations(
    log: TrainerLog,
    declared: Declared,
    run: Run,
    anatomy: Anatomy,
    languages: Mapping[str, str],
    bytes_per_token: Mapping[str, float],
) -> Iterator[dict[str, Any]]:
    """The lines of `evals.jsonl`, in the order of steps."""
    flops = float(anatomy.flops_per_token(declared.context))
    for loss in sorted(log.held_out, key=lambda loss: (loss.step, loss.text)):
        lang, tokens = languages[loss.text], loss.step * run.batch
        yield {
            "step": loss.step,
            "tokens": tokens,
            "tokens_lang": round(tokens * run.shares.get(lang, 0.0)),
            "epochs_lang": 0.0,
            "flops": flops * tokens,
            "lang": lang,
            "loss": loss.loss,
            "bits_per_byte": loss.loss / math.log(2) / bytes_per_token[lang],
        }


def _told(log: TrainerLog, run: Run, directory: Path) -> Iterator[str]:
    """What came in, and what is missing in it."""
    yield f"{run.run}: {run.roles}; {log.step:,} of {log.steps:,} steps by {log.trainer}"
    if run.status != "finished":
        yield _GOES_ON
        told = _WARM if log.step < (first := shown_from(log.losses)) else _NO_RATES
        told = _RATES if "schedule" in run.settings else told
        yield told.format(step=first, **run.settings)
    elif not (directory / "model").exists():
        yield "its last checkpoint is not there, so `evaluate` and `export` cannot open it"
    if not log.held_out:
        yield "its held-out loss is of several languages: `tongues evaluate` scores each"
    elif not any(loss.step == 0 for loss in log.held_out):
        yield "no loss before training: forgetting is measured from the first one (`eval_on_start`)"
