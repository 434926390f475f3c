"""The partition by gradient similarity: languages that change the base model alike."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tongues.core.errors import UserError
from tongues.core.randomness import derive_seed
from tongues.experts.heldout import same_tokenizer
from tongues.experts.partition.distances import named
from tongues.experts.partition.partition import Distances
from tongues.experts.words import WORDS
from tongues.models.huggingface import load_model
from tongues.text.tokens import Tokens
from tongues.train.engine.fitting import fit_scorer
from tongues.train.engine.processor import set_up
from tongues.train.engine.scorer import Scorer

_KEPT = 1_000_000  # numbers of a gradient, about
_TOKENS = 4096  # of a backward pass, about
_LEAST = 8  # windows, of two halves
_FLOOR = 1e-3  # of the mean scale: numbers that hardly change count no more than this lets them


def similarity_distances(
    model_folder: Path,
    tokens: Tokens,
    languages: Sequence[str],
    *,
    windows: int = 128,
    context: int = 256,
    seed: int = 0,
) -> tuple[Distances, tuple[str, ...]]:
    """Distances between languages by how alike they would change a model, and notes.

    The distance is 1 - the correlation of the gradients of two languages' losses with respect to
    the layers (embeddings follow the script and little else), each number in the scale that Adam
    would give it. It is freed of the noise of small samples: each language's windows are scored in
    two halves, and its gradient's own length is taken from the product of the halves. It costs one
    backward pass over the windows of each language and no training.

    model_folder: a Hugging Face model of the tokens' own tokenizer, usually the base. windows: of
    training tokens, drawn by `seed`, for each language; as many as the one with least text has.
    context: tokens of a window.
    """
    path, what, hint = model_folder / "tokenizer.json", "", ""
    if not path.is_file():
        what, hint = "holds no tokenizer.json", "put the model's own tokenizer into its folder"
    elif not same_tokenizer(path, tokens.tokenizer_path):
        what = "has another tokenizer than these tokens"
        hint = f"prepare with its own: `tokens.base: {model_folder}`"
    if what:
        raise UserError(what, where=str(model_folder), hint=hint)
    there = {lang: (len(tokens.train(lang)) - 1) // context for lang in languages}
    least = min(there, key=there.__getitem__)
    if there[least] < _LEAST:
        what = f"`{least}` has {there[least]} windows of {context} tokens; {_LEAST} are needed"
        hint = "lower `train.context`, give it more text, or partition by `typology` or `topics`"
        raise UserError(what, where="experts.partitions", hint=hint)
    windows = min(windows, there[least])
    processor = set_up("float32", torch.get_num_threads())
    model = load_model(model_folder)
    torch.nn.Module.to(model, processor.device)
    scorer, _ = fit_scorer(
        model,
        processor,
        context=context,
        frame=tokens.frame,
        recompute=False,
        compiled=False,
        tell=lambda line: None,
    )
    ends = (scorer.model.get_input_embeddings(), scorer.model.get_output_embeddings())
    embeddings = {id(weight) for end in ends if end is not None for weight in end.parameters()}
    layers = [weight for weight in scorer.parameters() if id(weight) not in embeddings]
    kept = _sample(layers, seed)
    halves = np.empty((2, len(languages), sum(map(len, kept))), np.float32)
    for i, lang in enumerate(languages):
        drawn = draw_windows(tokens, lang, windows, context, seed)
        for half in (0, 1):
            halves[half, i] = _gradient(scorer, drawn[half::2], layers, kept)
    about = WORDS["gradients"].format(model=model_folder, windows=windows, context=context)
    return gradient_distances(languages, halves), (about,)


def gradient_distances(languages: Sequence[str], halves: np.ndarray) -> Distances:
    """From two gradients [2, languages, numbers] of each language, each of its own windows."""
    scale = np.sqrt(np.square(halves).mean(axis=(0, 1)))  # as Adam's: √ of the mean square
    # the root, so that in products the scale is whole
    first, second = halves / np.sqrt(scale + _FLOOR * scale.mean())
    lengths = (first * second).sum(axis=1, dtype=np.float64)
    for lang, length in zip(languages, lengths, strict=True):
        if length <= 0:
            what = f"`{lang}`: too few windows to know a gradient from noise"
            hint = "give it more text, or partition by `typology` or `topics`"
            raise UserError(what, where="experts.partitions", hint=hint)
    mean = (first + second) / 2
    cosine = (mean @ mean.T) / np.sqrt(np.outer(lengths, lengths))
    return named(languages, np.clip(1 - cosine, 0.0, 2.0))


def draw_windows(tokens: Tokens, lang: str, windows: int, context: int, seed: int) -> Tensor:
    """Windows [windows, context + 1] of a language's training tokens, none twice."""
    text = tokens.train(lang)
    random = np.random.default_rng(derive_seed(seed, "kinship", lang))
    starts = context * np.sort(random.choice((len(text) - 1) // context, windows, replace=False))
    drawn = np.stack([text[i : i + context + 1] for i in starts]).astype(np.int64)
    return torch.from_numpy(tokens.frame.begin(drawn))


def _sample(weights: Sequence[Tensor], seed: int) -> list[Tensor]:
    """Which numbers of each weight's gradient are kept: as large a share of each, by chance."""
    share = min(1.0, _KEPT / sum(weight.numel() for weight in weights))
    random = torch.Generator().manual_seed(derive_seed(seed, "kinship"))
    return [
        torch.randint(weight.numel(), (round(share * weight.numel()),), generator=random)
        if share < 1
        else torch.arange(weight.numel())
        for weight in weights
    ]


def _gradient(
    scorer: Scorer, windows: Tensor, layers: Sequence[Tensor], kept: Sequence[Tensor]
) -> np.ndarray:
    device = scorer.processor.device
    scorer.zero_grad(set_to_none=True)
    for some in windows.split(max(1, _TOKENS // windows.shape[1])):
        objective, _ = scorer(some.to(device))
        (objective / windows[:, 1:].numel()).backward()
    numbers = [
        weight.grad.flatten()[places.to(device)] if weight.grad is not None else places * 0.0
        for weight, places in zip(layers, kept, strict=True)
    ]
    scorer.zero_grad(set_to_none=True)
    return torch.cat([part.float().cpu() for part in numbers]).numpy()
