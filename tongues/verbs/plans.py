"""What to do with a base, a language and a budget."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tongues.errors import UserError
from tongues.estimate import Estimate
from tongues.extras import EXTRAS
from tongues.files import write_text
from tongues.languages import OwnRun, find_language
from tongues.laws import Law
from tongues.laws.answer import FitAnswer
from tongues.plan import OwnLaws, Plan, Question, ask, make_plan, read_laws, recipe_of
from tongues.plan.amounts import read_bytes, read_count, read_number
from tongues.plan.bases import text_files
from tongues.tables import read_table
from tongues.verbs.measure import measure_base
from tongues.verbs.shared import pairs

Number = float | str  # a number, or one as people write it, such as `1.4B` or `20%`
_SAMPLE = 4_000_000  # characters of text that are enough for n-grams
_NGRAMS = 100_000  # bytes of a sample, from which its n-grams tell more than the catalogue
_DOCUMENT = 4_000  # characters of a sample of the base's loss


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
    known = read_laws(names, tags[0] if tags else "")
    if not (known and known.target):  # whose languages may be anybody's
        tags = [find_language(tag, "--language").tag for tag in tags]
    if len(set(tags)) < len(tags):
        raise UserError("names a language twice", where="--language")
    text = None if available_text is None else str(available_text)
    question = ask(
        gpu=gpu,
        bases=pairs(bases),
        available_text=text,
        languages=() if known.target else tags,
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
    sample = _sample(question)
    made = make_plan(_measured(question, known, sample), known, _for_ngrams(sample))
    if write is not None:
        place = Path(write)
        if place.exists():
            hint = "choose another name, or remove it first"
            raise UserError("is there already", where=str(place), hint=hint)
        write_text(place, recipe_of(made))
    return made


def forecast_of(made: Plan) -> Estimate | None:
    """Bits per byte after training, of the advised option."""
    return made.decision.option.loss


def _measured(question: Question, laws: OwnLaws, sample: str) -> Question:
    """With the loss of the base on the user's text, where both are on this disk."""
    if question.base_loss is not None or laws or not sample or not question.bases:
        return question
    folder = question.bases[0].folder
    if (
        not folder
        or not any(Path(folder).glob("*.safetensors"))
        or not EXTRAS["torch"].is_installed
    ):
        return question
    starts = range(0, len(sample), max(_DOCUMENT, len(sample) // 48))
    return question.measured(
        measure_base(Path(folder), [sample[start : start + _DOCUMENT] for start in starts])
    )


def _sample(question: Question) -> str:
    """The first characters of the text to learn, where it is on this disk."""
    place = question.targets[0].place
    text = ""
    for one in text_files(Path(place)) if place else ():
        with one.open(encoding="utf-8", errors="ignore") as file:
            text += file.read(_SAMPLE - len(text))
        if len(text) >= _SAMPLE:
            break
    return text


def _for_ngrams(sample: str) -> str | None:
    return sample if len(sample.encode()) >= _NGRAMS else None


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
