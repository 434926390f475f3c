"""Documents each in a row of its own, for models that mix those packed into one sample.

Recurrent layers and convolutions carry a state from token to token, and some families give their
attention no positions that begin again. Rows are filled up at the right, which no token before it
sees, to a few widths, so that filling at most doubles the tokens of all but the shortest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, distributed

_NARROWEST = 16  # tokens: below that, more calls cost more than they save


@dataclass(frozen=True, slots=True)
class DocumentRows:
    """Samples [samples, context] as rows of one document each."""

    parts: tuple[Tensor, ...]  # token ids [rows, width], each of another width
    order: Tensor  # [samples * context]: where each token is among all of the parts, flat
    context: int

    def join(self, each: Sequence[Tensor]) -> Tensor:
        """What is [rows, width, …] of each part, as [samples, context, …]."""
        flat = torch.cat([part.flatten(0, 1) for part in each])
        return flat.index_select(0, self.order).unflatten(0, (-1, self.context))


def cut_rows(tokens: Tensor, first: int) -> DocumentRows:
    """The documents of samples [samples, context]; each begins with `first`, or with its sample.

    Several processes get a part of every width, empty ones a row that nothing reads, since all
    must call the layers equally often.
    """
    samples, context = tokens.shape
    begins = tokens == first
    begins[:, 0] = True
    starts = begins.flatten().nonzero().flatten()
    lengths = torch.diff(starts, append=starts.new_tensor([samples * context]))
    widths = _widths(context)
    group = torch.bucketize(lengths, starts.new_tensor(widths))
    alone = not distributed.is_initialized() or distributed.get_world_size() == 1
    order, parts, count = torch.empty_like(tokens.flatten()), list[Tensor](), 0
    for number, width in enumerate(widths):
        chosen = group == number
        place = starts[chosen, None] + torch.arange(width, device=tokens.device)
        inside = place < (starts + lengths)[chosen, None]
        rows = tokens.flatten()[place.clamp(max=order.numel() - 1)].where(inside, first)
        if not len(rows):
            if alone:
                continue
            rows = tokens.new_full((1, width), first)
        order[place[inside]] = count + inside.flatten().nonzero().flatten()
        parts.append(rows)
        count += rows.numel()
    return DocumentRows(tuple(parts), order, context)


def _widths(context: int) -> list[int]:
    """Powers of two up to the context, and it."""
    widths = [_NARROWEST]
    while widths[-1] < context:
        widths.append(2 * widths[-1])
    return [*widths[:-1], context]
