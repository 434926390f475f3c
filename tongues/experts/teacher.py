"""The teacher of a run: what experts, or one model, predict of all of its samples, is stored."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tongues.errors import UserError
from tongues.experts.ensemble.ensemble import Ensemble
from tongues.experts.ensemble.model import open_model
from tongues.experts.ensemble.places import resolve_model
from tongues.experts.ensemble.routing import Routing, parse_routing
from tongues.experts.heldout import same_tokenizer
from tongues.files import only_one
from tongues.models.scorer import log_probs
from tongues.runs import read_run, status_of
from tongues.tokens import Tokens, open_tokens
from tongues.train.base import base_fingerprint, find_base
from tongues.train.plan import RunPlan, derive
from tongues.train.record import run_fingerprint
from tongues.train.start import make_mixture
from tongues.train.teacher import teacher_folder

__all__ = ["taught", "teacher_odds"]

_NUMBERS = 2**24  # odds at a time


def taught(
    plan: RunPlan,
    workspace: Path,
    *,
    watch: Callable[[float], None] = lambda share: None,
    tell: Callable[[str], None] = lambda line: None,
) -> RunPlan:
    """The plan with its teacher as it is now, whose predictions are stored for all samples.

    Interrupted, the same call resumes. Nothing is stored for a finished run. A plan without a
    teacher stays as it is.
    """
    teacher = plan.settings.teacher
    if teacher is None:
        return plan
    model, tokens = (
        open_model(teacher.model, workspace),
        open_tokens(workspace / "tokens" / plan.tokens),
    )
    ensemble, routing, where = model.ensemble, model.routing, "train.teacher"
    if not same_tokenizer(ensemble.tokenizer / "tokenizer.json", tokens.tokenizer_path):
        what, hint = "has another tokenizer than the text", "name its own by `tokens.base`, prepare"
        raise UserError(f"`{teacher.model}` {what}", where=where, hint=hint)
    if ensemble.own:
        what = f"some experts of `{teacher.model}` have fewer tokens than others"
        hint = "name one of its experts, such as that of the new language"
        raise UserError(what, where=where, hint=hint)
    if ensemble.context and ensemble.context < plan.settings.context:
        what = f"`{teacher.model}` sees {ensemble.context} tokens, less than `train.context`"
        raise UserError(what, where=where, hint=f"lower that to `{ensemble.context} tokens`")
    if ensemble.k > 1 and resolve_model(teacher.model, workspace)[3] is None:
        routing = parse_routing("language")  # of training text it is known
    for lang in plan.shares:
        ensemble.check(routing, lang)
    found = teacher.model_copy(update={"fingerprint": model.fingerprint})
    plan = replace(plan, settings=plan.settings.model_copy(update={"teacher": found}))
    base = find_base(plan.base, workspace)
    derived = derive(plan, tokens.vocabulary_size, base)
    mixture, stored = make_mixture(plan, derived, tokens), teacher_folder(plan, derived, tokens)
    at_a_time = max(1, _NUMBERS // (plan.settings.context * ensemble.vocabulary))
    if stored.done < stored.samples and not _finished(plan, tokens, base, workspace):
        tell(f"{plan.name}: storing what `{teacher.model}` predicts ({routing})")
        with only_one(stored.folder):
            for number in range(stored.done // mixture.samples, derived.steps):
                windows = mixture.batch(number)
                first = number * mixture.samples
                source = mixture.locate(np.arange(first, first + len(windows)))[0]
                langs = [mixture.languages[place] for place in source]
                for start in range(stored.done - first, len(windows), at_a_time):
                    some = slice(start, start + at_a_time)
                    odds = teacher_odds(ensemble, routing, windows[some], langs[some])
                    likely, ids = odds.topk(teacher.top)
                    stored.add(ids.cpu().numpy(), likely.cpu().numpy())
                watch((number + 1) / derived.steps)
    return plan


def _finished(plan: RunPlan, tokens: Tokens, base: Path | None, workspace: Path) -> bool:
    directory = workspace / "runs" / plan.name
    fresh = run_fingerprint(plan, tokens, base_fingerprint(base))
    return status_of(directory) == "finished" and read_run(directory).fingerprint == fresh


@torch.inference_mode()
def teacher_odds(
    ensemble: Ensemble, routing: Routing, windows: np.ndarray, languages: Sequence[str]
) -> Tensor:
    """The probabilities [n, context, V] of every next token of windows [n, context + 1].

    languages: of each window.
    """
    read = torch.from_numpy(windows)

    def logits(expert: int, rows: np.ndarray) -> Tensor:
        model = ensemble.models[expert]
        out = model(input_ids=read[rows, :-1].to(model.device), use_cache=False).logits
        return out.float().to(ensemble.models.home)

    every, given = np.arange(len(windows)), list[np.ndarray]()
    if routing.learns:
        targets = read[:, 1:].to(ensemble.models.home)
        each = (log_probs(logits(expert, every), targets)[0] for expert in range(ensemble.k))
        given = list(torch.stack(list(each), -1).double().cpu().numpy())
    weights = np.stack(
        [
            routing.weights(row[1:], ensemble.about(routing, lang), given[place] if given else None)
            for place, (row, lang) in enumerate(zip(windows, languages, strict=True))
        ]
    )
    shape = (len(windows), windows.shape[1] - 1, ensemble.vocabulary)
    odds = torch.zeros(shape, device=ensemble.models.home)
    for expert in range(ensemble.k):
        rows = np.flatnonzero(weights[..., expert].any(axis=1))
        if len(rows):  # rows of a model beyond the vocabulary mean nothing
            own = torch.from_numpy(weights[rows, :, expert, None]).to(odds)
            odds[rows] += own * logits(expert, rows).softmax(-1)[..., : ensemble.vocabulary]
    return odds
