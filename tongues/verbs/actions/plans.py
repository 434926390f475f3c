"""What to do with a base, a language and a budget."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

from tongues.core.errors import UserError
from tongues.core.extras import EXTRAS
from tongues.core.files import check_writable
from tongues.core.quantities import Bytes
from tongues.languages import OwnRun, find_language
from tongues.laws import Law
from tongues.laws.answer import FitAnswer
from tongues.plan import Plan, Question, ask, make_plan, read_base, read_laws, recipe_of
from tongues.plan.budget import read_as, read_number
from tongues.plan.recipe import recipe_name
from tongues.plan.words import WRITTEN, draft_lines
from tongues.runs.tables import read_table
from tongues.verbs import plan as verb
from tongues.verbs.actions.measure import measure_base
from tongues.verbs.actions.own_text import with_amounts, with_files
from tongues.verbs.actions.results import Draft
from tongues.verbs.shared import pairs

_NAME = re.compile(r"^name: *(\S+)", re.MULTILINE)
_NGRAMS = 100_000  # bytes of a sample, from which its n-grams tell more than the catalogue


def make(asked: verb.Plan) -> Plan:
    """Plan what was asked for; writes the recipe where that was asked for too."""
    laws, language = asked.laws, asked.language
    given = laws.laws if isinstance(laws, FitAnswer) else laws
    names = [given] if isinstance(given, Law | Path | str) else list(given)
    tags = [language] if isinstance(language, str) else list(language or ())
    if several := [tag for tag in tags if "," in tag]:
        each = " ".join(f"--language {tag.strip()}" for tag in several[0].split(","))
        hint = f"write it once for each: `{each}`"
        raise UserError("names several languages", where="--language", hint=hint)
    known = read_laws(names, tags[0] if tags else "")
    if not known.target:  # whose languages may be anybody's
        tags = [find_language(tag, "--language").tag for tag in tags]
    if len(set(tags)) < len(tags):
        raise UserError("names a language twice", where="--language")
    if asked.write is not None:
        check_new_file(Path(asked.write))
    question = ask(
        None if asked.budget is None else str(asked.budget),
        bases=[read_base(word) for word in pairs(asked.bases) if word != "auto"],
        runs=_own_runs(Path(asked.runs)) if asked.runs else (),
        gpu=asked.gpu,
        gpus=asked.gpus,
        mfu=asked.mfu,
        price=asked.price,
        max_forgetting=asked.max_forgetting,
        replay=asked.replay,
        params=asked.params,
        base_loss=asked.base_loss,
    )
    available, tags = asked.available_text, _known(tags) if known else tags
    if available and Path(available).exists():
        question = with_files(question, tags, Path(available), "--available-text")
    else:
        question = with_amounts(question, tags, None if available is None else str(available))
    made = make_plan(question if known else measured(question), known, sample_of(question))
    if asked.write is not None:
        draft_of(made, asked.write)
    return made


def draft_of(plan: Plan, out: Path | str | None) -> Draft:
    """The recipe of a plan and its lines; written to `out` with the plan next to it, if named.

    The base's tokenizer is tried on the text that is on this disk.
    """
    option, question, trial = plan.decision.option, plan.question, None
    usual = recipe_name(option, question.languages)
    folder = option.base and option.base.tokenizer_folder
    if folder and len(question.targets) == 1 and question.targets[0].sample:
        from tongues.text.tokens.fertility import try_tokenizer

        texts = (*question.targets, *([question.replayed] if question.replayed else []))
        samples = {text.language: text.sample for text in texts}
        trial = try_tokenizer(folder, question.languages[0], samples)
    recipe = recipe_of(plan, trial, _free_name(usual, Path(out)) if out else usual)
    lines = [*draft_lines(option, question.languages[0], trial), *plan.sentences()]
    made = Draft(recipe, (*lines, *([WRITTEN] if out else [])), option.loss, plan)
    if out:
        made.write(Path(out))
    return made


def _free_name(name: str, out: Path) -> str:
    """The name, or with a number that no recipe, run or tokens next to `out` or here have."""
    folders = {out.parent.resolve(), Path().resolve()}
    files = [file for folder in folders for file in folder.glob("*.y*ml")]
    texts = [file.read_text(encoding="utf-8", errors="ignore") for file in files if file.is_file()]
    taken = {match[1] for text in texts for match in _NAME.finditer(text)}
    kinds = [folder / kind for folder in folders for kind in ("runs", "tokens")]
    taken |= {each.name for kind in kinds for each in kind.glob("*")}
    numbered = (f"{name}-{number}" for number in count(2))
    return next(one for one in chain([name], numbered) if one not in taken)


def check_new_file(out: Path) -> None:
    """A UserError where a file is already, or none can be written."""
    if out.exists():
        raise UserError("is there already", where=str(out), hint="name another file")
    check_writable(out)


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
        text, counted = row["bytes"], row["bytes"][-1] not in "Bb"
        size = read_number(text, where) if counted else float(read_as(Bytes, text, where))
        params = read_number(row["params"], where) if "params" in row else None
        epochs = read_number(row["epochs"], where) if "epochs" in row else 1.0
        runs.append(OwnRun(size, read_number(row["loss"], where), params, epochs))
    return runs
