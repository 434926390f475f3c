"""Documents of a sample kept apart: a token attends only inside its own document."""

import torch
from torch import Tensor

__all__ = ["positions"]


def positions(tokens: Tensor, end_id: int) -> Tensor:
    """The place of every token [samples, context] in its document, from 0.

    Transformers reads positions that begin anew as documents packed into one sample, when there
    is no cache. As an input, the token that ends a document stands before the next and begins it:
    it says nothing but "a document begins", and the first token of that document is predicted from
    it alone, as it is when the model is used. As a target it still belongs to the document it ends.
    """
    place = torch.arange(tokens.shape[1], device=tokens.device)
    begins = torch.where(tokens == end_id, place, 0).cummax(dim=1).values
    return place - begins
