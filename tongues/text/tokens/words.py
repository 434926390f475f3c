"""The words of prepared tokens: what was written, what to look at, and why nothing was written.

Every sentence is a template here; what is true is decided elsewhere.
"""

from collections.abc import Mapping, Sequence

from tongues.core.beside import read_beside
from tongues.core.quantities import counted, show_count
from tongues.text.tokens.store import Counts, Split

PREPARED: dict[str, str] = read_beside(__file__)


def written_line(
    lang: str,
    counts: Mapping[Split, Counts],
    wanted: int | None,
    foreign: Mapping[str, float],
    overlap: int,
) -> str:
    """What was written of a language.

    wanted: tokens asked for, where far more are held out. foreign: shares of other languages.
    overlap: documents left out.
    """
    train, valid = counts["train"], counts["valid"]
    most = max(foreign, key=foreign.__getitem__, default="")
    parts = [PREPARED[part] for part in ("documents", "train", "valid", "ratio")]
    if wanted is not None:
        parts[2] = PREPARED["more"]
    if foreign:
        parts.append(PREPARED["several_foreign"] if len(foreign) > 1 else PREPARED["foreign"])
    if overlap:
        parts.append(PREPARED["overlap"])
    return ", ".join(parts).format(
        lang=lang,
        documents=train["documents"] + valid["documents"],
        train=show_count(train["tokens"]),
        valid=show_count(valid["tokens"]),
        wanted=show_count(wanted or 0),
        ratio=train["bytes_per_token"],
        share=sum(foreign.values()),
        most=most,
        part=foreign.get(most, 0.0),
        overlap=overlap,
    )


def no_split_words(
    total: int, held: int, left: int, wanted: int, groups: int, dropped: int
) -> tuple[str, str]:
    """Why a language cannot be split, and what to do.

    total, held, left: tokens, those that can be held out and those left to train on. wanted: of
    each side; 1 where only a share is asked for. groups: of documents. dropped: documents.
    """
    little = total < 2 * wanted
    advice = [PREPARED["give_text"] if little else PREPARED["give_groups"]]
    advice += [PREPARED["hold_less"]] if wanted > 1 else []
    advice += [PREPARED["drop_less"]] if dropped else []
    values = dict(zip(("total", "held", "left"), map(show_count, (total, held, left)), strict=True))
    values |= {"least": show_count(wanted), "twice": show_count(2 * wanted)}
    values["wanted"] = PREPARED["wanted"].format(**values) if wanted > 1 else ""
    values |= {"groups": counted(groups, "group"), "dropped": str(dropped)}
    why = PREPARED["little_text"] if little else PREPARED["large_groups"]
    return why.format(**values), ", or ".join(advice).format(**values)


def trained_on(runs: Sequence[str]) -> str:
    """Which runs were trained on tokens."""
    others = counted(len(runs) - 1, "more run")
    return (PREPARED["runs"] if len(runs) > 1 else PREPARED["one_run"]).format(
        run=runs[0], others=others
    )
