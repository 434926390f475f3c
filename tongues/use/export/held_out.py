"""The loss of an exported folder on the text that its run held out."""

from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path

from tongues.core.estimate import Estimate
from tongues.core.pages import fixed, minus, number, signed
from tongues.core.roles import list_languages
from tongues.core.significance import measured_loss, paired_loss
from tongues.evaluate.documents import held_out_documents
from tongues.evaluate.losses import DocumentLosses
from tongues.evaluate.texts import routed_losses
from tongues.experts.ensemble.lineage import Lineage
from tongues.experts.ensemble.model import open_model
from tongues.experts.heldout import unseen_documents
from tongues.text import Document
from tongues.text.tokens import Tokens

Losses = Mapping[str, DocumentLosses]  # by language
_TOKENS = 20_000  # of a language, in whole documents: enough for 0.3 % of a difference in pairs


def held_out_text(
    tokens: Tokens,
    languages: Sequence[str],
    workspace: Path,
    lineages: Sequence[Lineage] = (),
    most: int = _TOKENS,
) -> dict[str, list[Document]]:
    """Up to `most` tokens of held-out documents of each language, held out from experts too."""
    wanted = [lang for lang in languages if lang in tokens.languages]
    unseen = unseen_documents(tokens, lineages, workspace)
    return held_out_documents(tokens, unseen, wanted, tokens=most)


def held_out_losses(folder: Path, texts: Mapping[str, Sequence[Document]]) -> Losses:
    """The losses of a Hugging Face folder on documents, as `tongues evaluate` takes them."""
    model = open_model(str(folder), folder, dtype="fp32")
    return {lang: routed_losses([model], documents)[0] for lang, documents in texts.items()}


def bits(of: DocumentLosses) -> Estimate:
    """Bits per byte."""
    return measured_loss(of.nats / log(2), of.bytes, of.segments)


def change(own: DocumentLosses, other: DocumentLosses) -> Estimate:
    """Own bits per byte less the other's, on the same documents."""
    return paired_loss(own.nats / log(2), other.nats / log(2), own.bytes, own.segments)


def worse_than_base(own: Losses, base: Losses) -> str:
    """A sentence that names the languages on which a model is worse; empty where it is on none."""
    worse = [lang for lang in own if change(own[lang], base[lang]).value > 0]
    return f"It is worse than the base on {list_languages(worse)}." if worse else ""


def loss_rows(losses: Mapping[str, Losses]) -> list[dict[str, str]]:
    """Bits per byte by language of models by name, and the last one's change to that before it."""
    show, (before, after) = fixed(4), list(losses.values())[-2:]
    return [
        {"language": lang}
        | {name: minus(show(bits(of[lang]).value)) for name, of in losses.items()}
        | {"change": number(change(own, before[lang]), lambda x: signed(x, show))}
        for lang, own in after.items()
    ]
