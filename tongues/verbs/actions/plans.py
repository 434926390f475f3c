"""What to do with a base, a language, its text and a budget: plans, and the recipes of them."""

import math
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
from tongues.plan import (
    BaseCheckpoint,
    Plan,
    Question,
    Target,
    ask,
    make_plan,
    read_base,
    read_laws,
    recipe_of,
)
from tongues.plan.budget import read_as, read_number
from tongues.plan.question import read_target
from tongues.plan.recipe import recipe_name, replay_language
from tongues.plan.words import WRITTEN, draft_lines
from tongues.recipe.base import NAME
from tongues.recipe.foreign import ForeignRecipe
from tongues.recipe.loading import read_other
from tongues.runs.tables import read_table
from tongues.text.folder import check_language, find_texts
from tongues.text.tokens.fertility import measure, try_tokenizer
from tongues.text.tokens.tokenizer import load_tokenizer
from tongues.verbs import plan as verb
from tongues.verbs.actions.results import Draft
from tongues.verbs.shared import pairs

_NAME = re.compile(r"^name: *(\S+)", re.MULTILINE)
_USUAL = "100M tokens"  # of a budget that nobody gave; chosen: hours on one GPU
_WINDOW = 512  # tokens, by which the loss of a base is measured
_WINDOWS = 48  # documents of the sample: the standard error is some per cent of the loss


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
        _check_new_file(Path(asked.write))
    if "auto" in (bases := pairs(asked.bases)) and len(bases) > 1:
        what, hint = "`auto` chooses among the bases of the catalogue alone", "leave out the others"
        raise UserError(what, where="--base", hint=hint)
    question = ask(
        None if asked.budget is None else str(asked.budget),
        bases=[read_base(word) for word in bases if word != "auto"],
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
    if asked.params is not None and not known.find("scratch"):
        what, hint = "is of a model from scratch, by a law", "add `--law FILE`, or leave it out"
        raise UserError(what, where="--params", hint=hint)
    available, tags = asked.available_text, _known(tags) if known else tags
    if available and Path(available).exists():
        question = with_files(question, tags, Path(available), "--available-text")
    else:
        question = with_amounts(question, tags, None if available is None else str(available))
    made = make_plan(question if known else _measured(question), known)
    if asked.write is not None:
        _draft_of(made, asked.write)
    return made


def draft(asked: verb.New) -> Draft:
    """A recipe that continues a base on a language; writes it where that was asked for."""
    language = asked.language
    if not isinstance(language, str):
        if not language:
            raise UserError("which language?", where="--language", hint="a tag such as `sw`")
        if len(language) > 1:
            hint = "`tongues plan` takes several, and writes their recipe"
            raise UserError("names one language", where="--language", hint=hint)
        (language,) = language
    if "," in language:
        hint = "write the recipe for one; `tongues plan` takes several, and writes theirs"
        raise UserError("names one language to learn", where="--language", hint=hint)
    tag = find_language(language, "--language").tag
    other = None if asked.other is None else read_other(Path(asked.other))
    if other:
        asked = _taken(asked, other, Path(asked.other or "").parent)
    if asked.base is None:
        raise UserError("which base?", where="BASE", hint="`tongues new` lists some")
    checkpoint = read_base(asked.base, "BASE")
    if asked.out is not None:
        _check_new_file(Path(asked.out))
    budget, gpus, text = asked.budget, asked.gpus, asked.text
    question = ask(budget or _USUAL, gpu=asked.gpu, gpus=gpus, bases=(checkpoint,))
    question = replace(question, usual=budget is None, settings=other.settings if other else {})
    if text is None:
        question = with_amounts(question, (tag,), None)
        replays = bool(replay_language(checkpoint, question))
    else:
        question = with_files(question, (tag,), Path(text), f"--text {text}")
        replays = question.replayed is not None
    question = _measured(question if replays else replace(question, replay=0.0))
    named = Path(asked.out).stem if other and asked.out else ""  # as their own files are
    made = _draft_of(make_plan(question), asked.out, named)
    return replace(made, lines=(*other.lines, *made.lines)) if other else made


def _taken(asked: verb.New, other: ForeignRecipe, beside: Path) -> verb.New:
    """The question with what it does not name of another trainer's recipe."""
    base, texts = beside / other.base, [beside / text for text in other.text]
    here = next((text for text in texts if text.exists()), None)
    return replace(
        asked,
        base=asked.base or (str(base) if base.exists() else other.base),
        text=asked.text or (here and (here if here.is_dir() else here.parent)),
        budget=asked.budget or (other.tokens and f"{other.tokens} tokens"),
    )


def _draft_of(plan: Plan, out: Path | str | None, named: str = "") -> Draft:
    """The recipe of a plan and its lines; written to `out` with the plan next to it, if given.

    The base's tokenizer is tried on the text that is on this disk. named: its name, if it can be.
    """
    option, question, trial = plan.decision.option, plan.question, None
    usual = named if NAME.match(named) else recipe_name(option, question.languages)
    folder = option.base and option.base.tokenizer_folder
    if folder and len(question.targets) == 1 and question.targets[0].sample:
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


def _check_new_file(out: Path) -> None:
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


def _measured(question: Question) -> Question:
    """With the loss of every base that is here, on text that is here, before any training."""
    sample = question.targets[0].sample
    if question.losses or len(question.targets) > 1 or not sample:
        return question
    able = EXTRAS["torch"].is_installed
    folders = {base.name: Path(base.folder) for base in question.bases if base.folder and able}
    losses = {
        name: _measure_base(folder, sample)
        for name, folder in folders.items()
        if any(folder.glob("*.safetensors"))
    }
    return replace(question, losses=losses)


def _own_runs(path: Path) -> list[OwnRun]:
    """Runs of a table: bytes, loss (bits per byte), and perhaps params and epochs."""
    runs, table = list[OwnRun](), read_table([path])
    for i, where in enumerate(table.places):
        cells = {name: column[i] for name, column in table.columns.items()}
        row = {name: str(cell) for name, cell in cells.items() if cell is not None}
        if not {"bytes", "loss"} <= row.keys():
            hint = "the columns are bytes, loss (bits per byte), params and epochs; else `fit` them"
            raise UserError("`bytes` and `loss` are needed", where=where, hint=hint)
        text, counted = row["bytes"], row["bytes"][-1] not in "Bb"
        size = read_number(text, where) if counted else float(read_as(Bytes, text, where))
        params = read_number(row["params"], where) if "params" in row else None
        epochs = read_number(row["epochs"], where) if "epochs" in row else 1.0
        runs.append(OwnRun(size, read_number(row["loss"], where), params, epochs))
    return runs


def with_amounts(question: Question, languages: Sequence[str], available: str | None) -> Question:
    """The question with text by its amount, or with what the catalogue knows of."""
    if len(languages) > 1 and available is not None:
        where = "--available-text"
        hint = "name a folder with `sw/`, `yo/`; without it the catalogue's amounts are taken"
        raise UserError("one amount of text, and several languages", where=where, hint=hint)
    base = question.bases[0] if question.bases else None
    targets = (read_target(available, language, base) for language in languages or ("",))
    return question.with_text(tuple(targets))


def with_files(question: Question, languages: Sequence[str], place: Path, where: str) -> Question:
    """The question with the text of a file or folder; a UserError where a language has none.

    Files are of any kind that `prepare` reads; a sample is checked, and encoded by every base that
    is on this disk. Of a folder, text of the first language that a base may replay is taken too.
    """
    if not languages:
        raise UserError("text is of a language", where=where, hint="add `--language sw`")
    known = [lang for base in question.bases for lang in base.languages or ("en",)]
    known = [lang for lang in dict.fromkeys(known) if lang not in languages]
    if place.is_file():
        found = {lang: [str(place)] for lang in languages[:1]}
    else:
        found = find_texts(place, (*languages, *known))
    for lang in languages:
        if lang not in found:
            hint = f"name a folder with text of `{lang}`, such as `{lang}/` or `{lang}.jsonl` in it"
            raise UserError(f"there is no text of `{lang}`", where=where, hint=hint)
    replayed = next((lang for lang in known if lang in found), None)
    files = {lang: found[lang] for lang in (*languages, *([replayed] if replayed else []))}
    texts = _texts_of(files, question.bases, where)
    targets = tuple(texts[lang] for lang in languages)
    return question.with_text(targets, texts.get(replayed or ""), where)


def _texts_of(
    files: dict[str, list[str]], bases: Sequence[BaseCheckpoint], where: str
) -> dict[str, Target]:
    """The text of each language, checked and measured."""
    texts, folders = check_language(files, where), {x.name: x.tokenizer_folder for x in bases}
    tokenizers = {name: load_tokenizer(folder) for name, folder in folders.items() if folder}
    targets = dict[str, Target]()
    for language, text in texts.items():
        sample = {language: [("", document) for document in text.sample]}
        counted = {name: measure(of, sample)[language] for name, of in tokenizers.items()}
        per_token = {name: of.bytes_per_token for name, of in counted.items()}
        paths, size = tuple(files[language]), float(text.bytes)
        targets[language] = Target(language, size, None, paths, per_token, text.sample)
    return targets


def _measure_base(folder: Path, texts: Sequence[str]) -> float:
    """Bits per byte of a Hugging Face folder on windows from the beginnings of documents.

    A minute on the user's own text before any training, instead of a guess.
    """
    import torch

    from tongues.models.huggingface import load_model
    from tongues.models.scorer import batch_scorer

    tokenizer, model = load_tokenizer(folder), load_model(folder).eval()
    scorer, nats, size = batch_scorer(model), 0.0, 0
    for text in texts[:: max(1, len(texts) // _WINDOWS)][:_WINDOWS]:
        encoding = tokenizer.encode(text[: 8 * _WINDOW], add_special_tokens=False)
        ids, ends = encoding.ids[: _WINDOW + 1], encoding.offsets[: _WINDOW + 1]
        if len(ids) < 2:
            continue
        tokens = torch.tensor([ids])
        every = torch.ones_like(tokens[:, 1:], dtype=torch.bool)
        with torch.inference_mode():
            likely, _ = scorer.score(tokens[:, :-1], tokens[:, 1:], every, None)
        nats -= float(likely.double().sum())
        size += len(text[ends[0][1] : ends[-1][1]].encode())
    return nats / math.log(2.0) / size if size else math.nan
