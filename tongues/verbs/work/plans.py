"""What to do with a base, a language and a budget."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tongues.errors import UserError
from tongues.extras import EXTRAS
from tongues.files import write_text
from tongues.languages import OwnRun, find_language
from tongues.laws import Law
from tongues.laws.answer import FitAnswer
from tongues.plan import Plan, Question, ask, make_plan, read_laws, recipe_of
from tongues.plan.amounts import read_bytes, read_count, read_number
from tongues.tables import read_table
from tongues.verbs.shared import pairs
from tongues.verbs.work.measure import measure_base

Number = float | str  # a number, or one as people write it, such as `1.4B` or `20%`
_NGRAMS = 100_000  # bytes of a sample, from which its n-grams tell more than the catalogue


def plan(
    laws: FitAnswer | Law | Path | str | Sequence[Law | Path | str] = (),
    *,
    bases: Sequence[str] | Mapping[str, str] = (),
    language: str | Sequence[str] | None = None,
    available_text: Path | str | None = None,
    gpu: str | None = None,
    gpus: Number | None = None,
    hours: Number | None = None,
    cost: Number | None = None,
    tokens: Number | None = None,
    flops: Number | None = None,
    target_loss: Number | None = None,
    max_forgetting: Number | None = None,
    replay: Number | None = None,
    params: Number | None = None,
    base_loss: Number | None = None,
    mfu: Number | None = None,
    price: Number | None = None,
    runs: Path | str | None = None,
    write: Path | str | None = None,
) -> Plan:
    """Which base to continue on a language, with which tokenizer, on how much, and at what price.

    One of `hours`, `cost`, `tokens`, `flops` and `target_loss` is given.

    laws: of own runs: what `fit` returned, laws, names of published ones, or files of laws; losses
        are then in nats per token, else in bits per byte.
    bases: checkpoints to continue: hub ids, folders, or `llama=8B@15T`, or by name; without any,
        or with `auto`, those of the catalogue that promise most.
    language: to learn, one or several. available_text: of it, as `3GB`, `200M tokens`, a file or a
        folder; else what the catalogue knows of.
    gpu: what trains, such as `h100`. gpus: how many. mfu: the share of their peak speed that is
        reached. price: of a GPU and hour, in US$.
    hours: on all GPUs. cost: in US$. tokens: to train on, replay included. flops: C = 6 N D.
    max_forgetting: the rise of the loss on the base's languages to stay within, such as 0.01.
    replay: the share of text in the base's languages.
    params: of a model from scratch.
    base_loss: the base's loss on the text before training; measured where both are folders here.
    runs: a CSV file of own runs from scratch: bytes, loss in bits per byte, params and epochs.
    write: a file for a recipe of the advice.
    """
    given = laws.laws if isinstance(laws, FitAnswer) else laws
    names = [given] if isinstance(given, Law | Path | str) else list(given)
    tags = [language] if isinstance(language, str) else list(language or ())
    if several := [tag for tag in tags if "," in tag]:
        hint = f"write `--language` once for each: {several[0].replace(',', ' --language ')}"
        raise UserError("names several languages", where="--language", hint=hint)
    known = read_laws(names, tags[0] if tags else "")
    if not known.target:  # whose languages may be anybody's
        tags = [find_language(tag, "--language").tag for tag in tags]
    if len(set(tags)) < len(tags):
        raise UserError("names a language twice", where="--language")
    text = None if available_text is None else str(available_text)
    question = ask(
        gpu=gpu,
        bases=pairs(bases),
        available_text=text,
        languages=_known(tags) if known else tags,
        runs=_own_runs(Path(runs)) if runs else (),
        gpus=gpus,
        mfu=mfu,
        price=price,
        hours=hours,
        cost=cost,
        tokens=tokens,
        flops=flops,
        target_loss=target_loss,
        max_forgetting=max_forgetting,
        replay=replay,
        params=params,
        base_loss=base_loss,
    )
    made = make_plan(question if known else measured(question), known, sample_of(question))
    if write is not None:
        place = Path(write)
        if place.exists():
            hint = "choose another name, or remove it first"
            raise UserError("is there already", where=str(place), hint=hint)
        write_text(place, recipe_of(made))
    return made


def _known(tags: Sequence[str]) -> list[str]:
    """Those of the catalogue: laws may be of languages that it does not have."""
    known = list[str]()
    for tag in tags:
        with suppress(UserError):
            known.append(find_language(tag).tag)
    return known


def measured(question: Question) -> Question:
    """With the loss of every base that is here, on text that is here, before any training."""
    sample = question.targets[0].sample
    if question.losses or len(question.targets) > 1 or not sample:
        return question
    able = EXTRAS["torch"].is_installed
    folders = {base.name: Path(base.folder) for base in question.bases if base.folder and able}
    losses = {
        name: measure_base(folder, sample)
        for name, folder in folders.items()
        if any(folder.glob("*.safetensors"))
    }
    return replace(question, losses=losses)


def sample_of(question: Question) -> str | None:
    """Text for n-grams, where there is enough of it."""
    text = "\n".join(question.targets[0].sample)
    return text if len(text.encode()) >= _NGRAMS else None


def _own_runs(path: Path) -> list[OwnRun]:
    """Runs of a table: bytes, loss (bits per byte), and perhaps params and epochs."""
    runs, table = list[OwnRun](), read_table([path])
    for i, where in enumerate(table.places):
        cells = {name: column[i] for name, column in table.columns.items()}
        row = {name: str(cell) for name, cell in cells.items() if cell is not None}
        if not {"bytes", "loss"} <= row.keys():
            hint = "the columns are bytes, loss (bits per byte), params and epochs"
            raise UserError("`bytes` and `loss` are needed", where=where, hint=hint)
        amount = read_bytes(row["bytes"], where) if row["bytes"][-1] in "Bb" else None
        size = amount if isinstance(amount, float) else read_count(row["bytes"], where)
        params = read_count(row["params"], where) if "params" in row else None
        epochs = read_number(row["epochs"], where) if "epochs" in row else 1.0
        runs.append(OwnRun(size, read_number(row["loss"], where), params, epochs))
    return runs
