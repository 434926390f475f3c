"""The embeddings that the new tokens of a run start with.

Token Distillation, after Dobler, Elliott and de Melo (arXiv 2505.20133): embeddings that have the
effect of the tokens they replace. The model reads the same text in the base's tokens and in new
ones. The rows of the new tokens, and nothing else, are moved until the hidden states are the same
where both have read equally far.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from tongues.core.randomness import derive_seed
from tongues.models.anatomy import embedding_matrices
from tongues.models.embeddings import NewTokens, calibrate, mean_rows
from tongues.models.token_map import TokenMap
from tongues.runs.record import VocabularyExtension
from tongues.train.engine.processor import uncompiled
from tongues.train.engine.sharding import reshard, set_rows
from tongues.train.step import Setup, cut_windows, validate

_RISE = 0.005  # nats per token that new output rows may cost text of known tokens
_STATES = 1024  # tokens of base languages on which that is measured
# Of distillation:
_SHARE = 0.01  # of the run's work at most
_WORK = 2.0  # of reading a snippet twice and deriving once, in training steps of as many tokens
_LENGTH = 50  # tokens of a snippet (as published)
_EACH = 100  # snippets of a token: more bring little (as published)
_BATCH = 16  # snippets
_RATE = 0.03  # of the rows' root mean square, at first; it falls to zero
_READ = 2**22  # tokens of each text, from its start, in which tokens are looked for
# Shares of the way it found that are tried: where input and output share a matrix, the whole of it
# can cost more in predictions than it gains (docs/log.md, 2026-11-28).
_WAYS = (1.0, 0.5, 0.25, 0.0)
_TRIED = 4096  # tokens of each text to learn on which that is measured; chosen: seconds each


def initialize(
    setup: Setup,
    tokens: TokenMap,
    matrices: Sequence[Tensor],
    tell: Callable[[str], None],
    snippets: int | None = None,
) -> VocabularyExtension:
    """Give the new tokens of a run their embeddings; returns how.

    matrices: the base's rows. snippets: of text, to distill them on; None: by the run's length.
    """
    method = setup.plan.new_embeddings
    tell(f"{len(tokens.missing):,} new tokens start by `{method}`")
    rows = mean_rows(tokens, matrices)
    with uncompiled():  # as the lengths of snippets differ, none is worth compiling for
        hidden = _states_of_known_text(setup)

    def set_all() -> None:
        if hidden is not None:
            rows[-1], _ = calibrate(rows[-1], matrices[-1], hidden, _RISE)
        numbers = torch.from_numpy(tokens.missing)
        for matrix, content in zip(embedding_matrices(setup.scorer.model), rows, strict=True):
            set_rows(matrix, numbers, content)

    set_all()
    if method == "distilled":
        languages = setup.tokens.languages
        read = [lang for lang in languages if lang in setup.texts or lang in setup.plan.shares]
        texts = [setup.tokens.train(lang) for lang in read]
        mean = rows[0]
        with uncompiled():
            moved = distill(setup, NewTokens(tokens, matrices, texts), mean, snippets) - mean
        losses = dict[float, float]()
        for share in _WAYS if moved.any() else ():
            rows[0] = mean + share * moved
            set_all()
            losses[share] = _loss_of_text(setup)
        if losses:
            best = min(losses, key=losses.__getitem__)
            rows[0] = mean + best * moved
            set_all()
            tell(f"{best:.0%} of the way that distillation found gives the lowest loss")
    return VocabularyExtension(new_tokens=len(tokens.missing), initialization=method)


def _loss_of_text(setup: Setup) -> float:
    """Nats per token on the beginning of the training text of the languages to learn."""
    context, tokens = setup.plan.settings.context, setup.tokens
    texts = {
        lang: cut_windows(
            tokens.train(lang)[: max(_TRIED, context) + 1],
            tokens.token_bytes,
            context,
            frame=tokens.frame,
        )
        for lang in setup.plan.roles.targets
    }
    found = validate(setup.scorer, texts, setup.processes)
    return sum(loss.nats_per_token for loss in found.values()) / len(found)


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


def distill(setup: Setup, new: NewTokens, rows: Tensor, most: int | None = None) -> Tensor:
    """Train input rows that the model has already; returns them as they should be.

    most: snippets to read; None: what is worth it in a run of this length.
    """
    processes, device = setup.processes, setup.processor.device
    worth = int(_SHARE * setup.derived.tokens / _WORK / _LENGTH)
    budget = worth if most is None else most
    seed = derive_seed(setup.plan.settings.seed, "snippets")
    size = math.ceil(_BATCH / processes.count) * processes.count
    if budget < size:
        return rows
    windows = snippets(new, budget, seed)
    steps = len(windows) // size
    if not steps:
        return rows
    place = torch.full((new.tokens.size,), -1, device=device)
    place[torch.from_numpy(new.tokens.missing)] = torch.arange(len(rows), device=device)
    # What the layer puts out is trained: some families scale the rows there.
    scale = 1.0
    shift = torch.zeros_like(rows, device=device, requires_grad=True)
    # A row is in few batches: Adam would go on moving it by its one gradient, and by more the later
    # that comes. With 768 snippets the loss is 6.63 instead of 6.69 (docs/log.md, 2026-11-28).
    optimizer = torch.optim.Adagrad([shift])
    rate = _RATE * float(rows.square().mean().sqrt())
    embedding, scorer = setup.scorer.model.get_input_embeddings(), setup.scorer

    def moved(_: object, args: tuple[Tensor, ...], output: Tensor) -> Tensor:
        nonlocal scale
        at = place[args[0]]
        first = args[0].flatten()[0]
        if at.max() < 0:
            weight = new.matrices[0][new.tokens.shared[int(first)]]
            scale = float(output.flatten(0, -2)[0].float().norm() / weight.norm())
            return output
        return output + torch.where(at[..., None] < 0, 0.0, shift[at]).to(output.dtype)

    hook = embedding.register_forward_hook(moved)
    scorer.eval()
    try:
        for step in range(steps):
            batch = windows[step * size : (step + 1) * size]
            ours = batch[processes.rank :: processes.count]
            before, ends = (torch.from_numpy(x).to(device) for x in _in_old_tokens(new, ours))
            with torch.no_grad():
                teacher = scorer.hidden_states(before).float()
            wanted = teacher.gather(1, ends[..., None].expand(-1, -1, teacher.shape[-1]))
            found = scorer.hidden_states(torch.from_numpy(ours).to(device)).float()
            (slope,) = torch.autograd.grad(mse_loss(found, wanted), shift)
            shift.grad = processes.sum_tensor(slope)
            optimizer.param_groups[0]["lr"] = scale * rate * (1 - step / steps)
            optimizer.step()
    finally:
        hook.remove()
        reshard(scorer)
        scorer.train()
    return rows + shift.detach().to(rows) / scale


def snippets(new: NewTokens, count: int, seed: int) -> np.ndarray:
    """Windows [at most count, 50] of the texts, around each new token equally often."""
    rng = np.random.default_rng(seed)
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for text in new.texts:
        text = np.asarray(text[:_READ])
        if len(text) < _LENGTH:
            continue
        occurrences = rng.permutation(np.flatnonzero(np.isin(text, new.tokens.missing)))
        windows = np.lib.stride_tricks.sliding_window_view(text, _LENGTH)
        starts = occurrences - rng.integers(_LENGTH, size=len(occurrences))
        found.append((text[occurrences], windows[starts.clip(0, len(windows) - 1)]))
    if not found:
        return np.empty((0, _LENGTH), dtype=np.int64)
    tokens = np.concatenate([tokens for tokens, _ in found])
    order = np.argsort(tokens, kind="stable")
    _, first, sizes = np.unique(tokens[order], return_index=True, return_counts=True)
    turn = np.empty(len(tokens), dtype=np.int64)  # how many windows of the token come before
    turn[order] = np.arange(len(tokens)) - np.repeat(first, sizes)
    chosen = np.argsort(turn, kind="stable")[:count]
    chosen = rng.permutation(chosen[turn[chosen] < _EACH])
    return np.concatenate([windows for _, windows in found])[chosen].astype(np.int64)


def _in_old_tokens(new: NewTokens, windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Windows in the base's tokens, filled up at the end, and where each new token ends in them."""
    shared, parts = new.tokens.shared, new.tokens.parts
    spelt = [
        [[int(shared[n])] if shared[n] >= 0 else parts[n] for n in window]
        for window in windows.tolist()
    ]
    rows = [[part for token in window for part in token] for window in spelt]
    padded = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    for row, ids in zip(padded, rows, strict=True):
        row[: len(ids)] = ids
    lengths = np.array([[len(token) for token in window] for window in spelt])
    return padded, (lengths.cumsum(axis=1) - 1).clip(0)
