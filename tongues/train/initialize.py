"""The embeddings that new tokens start with, and the short training that chooses among methods."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from tongues.models.anatomy import embedding_matrices
from tongues.models.embeddings import EMBEDDING_METHODS, NewTokens, calibrate
from tongues.models.token_map import TokenMap
from tongues.randomness import derive_seed
from tongues.runs import Probe, VocabularyExtension
from tongues.train.distillation import DISTILLED, distill
from tongues.train.engine.processor import uncompiled
from tongues.train.engine.sharding import kept_buffers, local_rows, reshard, set_rows
from tongues.train.plan import Derived
from tongues.train.step import (
    BatchLoader,
    HeldOut,
    Setup,
    gradient,
    held_out_windows,
    update,
    validate,
)

AUTO: tuple[str, ...] = ("mean", "similar", "asymmetric", "distilled")
_SHORT = "mean"  # where a run is too short to compare
_STEPS = 50  # of a probe: enough to rank methods as a long run does (arXiv 2608.03494)
_FEWEST = 5
_COST = 0.02 - DISTILLED  # of the run's work, for all probes; 2 % with what distillation takes
_SCORED = 0.25  # of that, for scoring held-out text
_FORWARD = 1 / 3  # of the work of a training step
_WARM = 0.2  # of a probe's steps, in which its learning rate rises
_TOLERANCE = 0.01  # of the loss of base languages, above the lowest of all methods
_RISE = 0.005  # nats per token that new output rows may cost text of known tokens
_STATES = 1024  # tokens of base languages on which that is measured

Losses = Mapping[str, float]  # held-out nats per token by language
Say = Callable[[str], None]


def initialize(
    setup: Setup,
    tokens: TokenMap,
    matrices: Sequence[Tensor],
    before: VocabularyExtension | None,
    tell: Say,
) -> VocabularyExtension:
    """Give the new tokens of a run their embeddings; returns how.

    matrices: the base's rows. before: what an earlier sitting recorded; its choice is kept.
    """
    plan = setup.plan
    langs = [lang for lang in setup.tokens.languages if lang in setup.texts or lang in plan.shares]
    texts = [setup.tokens.train(lang) for lang in langs]
    seed = derive_seed(plan.settings.seed, "new embeddings")
    new, named = NewTokens(tokens, matrices, texts, seed), plan.new_embeddings
    if before:
        start_by(setup, new, before["initialization"])
        return before
    count = len(tokens.missing)
    record = VocabularyExtension(new_tokens=count, initialization=named, losses={}, probe=None)
    if named == "auto":
        record = _compare(setup, new, tell)
    start_by(setup, new, record["initialization"])
    return record


def probe_size(
    derived: Derived, context: int, processes: int, languages: int, methods: int
) -> tuple[int, int, int] | None:
    """Steps, tokens of a batch, and tokens scored of each language, for the probe of one method.

    All probes together cost at most 1 % of the run. None where that is less than five steps. The
    samples of a batch are a power of two, so the size is the same for 1, 2, 4 … processes; only
    more processes than samples make the batch larger.
    """
    each = _COST * derived.tokens / methods
    trained = (1 - _SCORED) * each
    samples = 1 << (max(1, int(trained / _STEPS / context)).bit_length() - 1)
    samples = -(-samples // processes) * processes
    batch = min(derived.batch, samples * context)
    steps = int(min(_STEPS, trained // batch))
    scored = _SCORED * each / (2 * _FORWARD * languages)
    return (steps, batch, max(context, int(scored))) if steps >= _FEWEST else None


def choose_method(
    losses: Mapping[str, Losses], targets: Sequence[str], others: Sequence[str]
) -> str:
    """The method with the lowest mean loss on the targets.

    Left out is one after which the mean loss of the other languages, those of the base, is more
    than 1 % above the lowest of all methods.
    """

    def mean(name: str, langs: Sequence[str]) -> float:
        return sum(losses[name][lang] for lang in langs) / max(len(langs), 1)

    lowest = min(mean(name, others) for name in losses)
    sound = [name for name in losses if mean(name, others) <= lowest * (1 + _TOLERANCE)]
    return min(sound, key=lambda name: mean(name, targets))


def _compare(setup: Setup, new: NewTokens, tell: Say) -> VocabularyExtension:
    """Train a little from each method's embeddings, and choose; the model stays as it was."""
    plan, derived, count = setup.plan, setup.derived, len(new.tokens.missing)
    texts = {
        lang: text for lang, text in setup.texts.items() if plan.roles.role(lang) != "other"
    } or setup.texts
    targets = [lang for lang in texts if plan.roles.role(lang) == "target"] or list(texts)
    others = [lang for lang in texts if lang not in targets]
    context, processes = plan.settings.context, setup.processes
    size = probe_size(derived, context, processes.count, len(texts), len(AUTO))
    if size is None:
        tell(f"{count:,} new tokens by `{_SHORT}`: the run is too short to compare methods")
        return VocabularyExtension(new_tokens=count, initialization=_SHORT, losses={}, probe=None)
    steps, batch, scored = size
    texts = {lang: _fewer(setup, text, scored) for lang, text in texts.items()}
    at_start: dict[str, Losses] = {}
    at_end: dict[str, Losses] = {}
    tell(
        f"{count:,} new tokens; held-out nats per token at the start, and after "
        f"{steps} steps of {batch:,} tokens:"
    )
    for name in AUTO:
        at_start[name], at_end[name] = probe(setup, new, name, texts, steps, batch)
        shown = (f"{lang} {at_start[name][lang]:.3f} → {at_end[name][lang]:.3f}" for lang in texts)
        tell(f"  `{name}`: {', '.join(shown)}")
    chosen = processes.once(lambda: choose_method(at_end, targets, others))
    tell(f"new tokens start by `{chosen}`")
    return VocabularyExtension(
        new_tokens=count,
        initialization=chosen,
        losses={name: dict(losses) for name, losses in at_start.items()},
        probe=Probe(
            steps=steps,
            batch=batch,
            losses={name: dict(losses) for name, losses in at_end.items()},
        ),
    )


def probe(
    setup: Setup,
    new: NewTokens,
    name: str,
    texts: Mapping[str, HeldOut],
    steps: int,
    batch: int,
) -> tuple[Losses, Losses]:
    """Losses on texts as new tokens start by a method, and after some steps; nothing is changed."""
    short = replace(
        setup,
        derived=replace(setup.derived, batch=batch),
        mixture=replace(setup.mixture, samples=batch // setup.plan.settings.context),
    )
    model, warm = setup.scorer.model, max(1, round(_WARM * steps))
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    weights = [*trained, *kept_buffers(model).values()]
    kept = set_aside(weights)
    start_by(setup, new, name)
    loader, at_start = BatchLoader(short), _losses(short, texts)
    for step in range(steps):
        gradient(short, loader, step, ())
        update(short, setup.derived.learning_rate * min(1.0, (step + 1) / warm))
    at_end = _losses(short, texts)
    setup.optimizer.state.clear()
    reshard(setup.scorer)
    with torch.no_grad():
        for weight, before in zip(weights, kept, strict=True):
            local_rows(weight)[0].copy_(before)
    return at_start, at_end


def set_aside(weights: Sequence[Tensor]) -> list[Tensor]:
    """A copy of this process's part of each, in the host's memory: a GPU holds moments too."""
    return [local_rows(weight)[0].detach().to("cpu", copy=True) for weight in weights]


def _losses(setup: Setup, texts: Mapping[str, HeldOut]) -> Losses:
    found = validate(setup.scorer, texts, setup.processes)
    return {lang: loss.nats_per_token for lang, loss in found.items()}


def _fewer(setup: Setup, text: HeldOut, tokens: int) -> HeldOut:
    """Windows of a text at even distances, of about that many tokens."""
    count, context = text.windows.shape[0], text.windows.shape[1] - 1
    taken = min(count, max(1, tokens // context))
    windows = text.windows[torch.arange(taken) * count // taken]
    return held_out_windows(windows, setup.tokens.token_bytes, setup.tokens.frame.bos)


def start_by(setup: Setup, new: NewTokens, name: str) -> None:
    """Give the new tokens embeddings by a method."""
    method = EMBEDDING_METHODS[name]
    rows = method.compose(new)
    with uncompiled():  # as the lengths of snippets differ, none is worth compiling for
        hidden = _states_of_known_text(setup)

    def set_all() -> None:
        if hidden is not None:
            rows[-1], _ = calibrate(rows[-1], new.matrices[-1], hidden, _RISE)
        numbers = torch.from_numpy(new.tokens.missing)
        for matrix, content in zip(embedding_matrices(setup.scorer.model), rows, strict=True):
            set_rows(matrix, numbers, content)

    set_all()
    if method.distilled:
        with uncompiled():
            rows[0] = distill(setup, new, rows[0])
        set_all()


@torch.no_grad()
def _states_of_known_text(setup: Setup) -> Tensor | None:
    """What comes before the output matrix in text of the base's languages.

    None where there is no such text, or where logits are more than a product.
    """
    langs = [lang for lang in setup.plan.roles.forgettable if lang in setup.tokens.languages]
    if not langs or not setup.scorer.chunked:
        return None
    context = setup.plan.settings.context
    samples = []
    for lang in langs:
        text = setup.tokens.train(lang)
        count = max(1, min(_STATES // len(langs), len(text)) // context)
        samples += [text[n * context :][:context].astype("int64") for n in range(count)]
    windows = torch.from_numpy(setup.tokens.frame.begin(np.stack(samples)))
    hidden = setup.scorer.hidden_states(windows.to(setup.processor.device))
    reshard(setup.scorer)
    return hidden.flatten(0, 1)[:_STATES].float().cpu()
