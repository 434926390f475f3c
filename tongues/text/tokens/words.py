"""The words of prepared tokens: what was written, what to look at, and why nothing was written.

Every sentence is a template here; what is true is decided elsewhere.
"""

from collections.abc import Mapping, Sequence

from tongues.core.quantities import counted, show_count
from tongues.text.tokens.store import Counts, Split

# Of the line of a language, the parts that it has.
_PARTS = (
    "{lang}: {documents} documents",
    "{train} tokens to train on",
    "{valid} held out",
    "{ratio:.2f} bytes per token",
)
_MORE = "{valid} held out ({wanted} asked for; groups of documents are held out whole)"
_FOREIGN = "{share:.1%} of it in other languages ({most})"
_SEVERAL_FOREIGN = "{share:.1%} of it in other languages ({most} {part:.1%})"
_OVERLAP = "{overlap} left out: text on both sides of the split"

_SPLIT_MORE = (
    "raise `tokens.held_out`, or split the text into more groups: a `.txt` file is one, and so are "
    "the rows with the same value of `group`"
)
_ONE_GROUP = "{lang}: 1 group of documents is held out, too few to compare models; {more}"
_FEW_GROUPS = (
    "{lang}: {count} independent groups of documents are held out and about half of them scored by "
    "`evaluate`, too few to compare models; {more}"
)
_LITTLE_TEXT = "{total} tokens are too little text to hold out {least} and train on as many"
_LARGE_GROUPS = (
    "its {total} tokens are in {groups} of documents that stay together, of which {held} tokens "
    "can be held out and {left} left to train on{wanted}"
)
_WANTED = ", and {least} are wanted of each"
# What to do about it, each where it may help.
_GIVE_TEXT = "give at least {twice} tokens"
_GIVE_GROUPS = "give more documents or smaller groups"
_HOLD_LESS = "lower `tokens.held_out`"
_DROP_LESS = "drop less by `text.clean`: {dropped} of its documents were dropped"

TRAINED = "training a tokenizer on {size} of text"
REPEATED = (
    "training a tokenizer on {size} of text; that of {small} is repeated, to have as much of each "
    "language"
)
OF_A_SOURCE = "{lang}: {share:.2%} of the tokens of {source} would change, had it not been read"
OF_A_TENTH = (
    "{lang}: {share:.2%} of the tokens of a tenth of this text would change, had it not been read; "
    "of another kind of text more"
)
_ONE_RUN = "`{run}` was trained on these tokens"
_RUNS = "`{run}` and {others} were trained on these tokens"
IN_USE = (
    "{runs}; once others replace them, `evaluate` cannot tell what these runs have read (Ctrl-C "
    "keeps them; `name={name}-2` keeps both)"
)
REPLACE = "replace them with `tongues prepare --overwrite`, or give the recipe another name"
RENAME = "give the recipe another `name`: {runs}"
MISSING = "written for {there}, but not for {missing}: {reasons}"


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
    parts = [*_PARTS]
    if wanted is not None:
        parts[2] = _MORE
    if foreign:
        parts.append(_SEVERAL_FOREIGN if len(foreign) > 1 else _FOREIGN)
    if overlap:
        parts.append(_OVERLAP)
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


def few_groups_sentence(lang: str, count: int) -> str:
    """That a language's held-out text has too few groups, and what to do."""
    return (_ONE_GROUP if count == 1 else _FEW_GROUPS).format(
        lang=lang, count=count, more=_SPLIT_MORE
    )


def no_split_words(
    total: int, held: int, left: int, wanted: int, groups: int, dropped: int
) -> tuple[str, str]:
    """Why a language cannot be split, and what to do.

    total, held, left: tokens, those that can be held out and those left to train on. wanted: of
    each side; 1 where only a share is asked for. groups: of documents. dropped: documents.
    """
    little = total < 2 * wanted
    advice = [_GIVE_TEXT if little else _GIVE_GROUPS]
    advice += [_HOLD_LESS] if wanted > 1 else []
    advice += [_DROP_LESS] if dropped else []
    values = dict(zip(("total", "held", "left"), map(show_count, (total, held, left)), strict=True))
    values |= {"least": show_count(wanted), "twice": show_count(2 * wanted)}
    values["wanted"] = _WANTED.format(**values) if wanted > 1 else ""
    values |= {"groups": counted(groups, "group"), "dropped": str(dropped)}
    why = _LITTLE_TEXT if little else _LARGE_GROUPS
    return why.format(**values), ", or ".join(advice).format(**values)


def trained_on(runs: Sequence[str]) -> str:
    """Which runs were trained on tokens."""
    others = counted(len(runs) - 1, "more run")
    return (_RUNS if len(runs) > 1 else _ONE_RUN).format(run=runs[0], others=others)
