"""Which documents are held out, and which overlap with them and are left out."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from tongues.core.errors import Caution, UserError
from tongues.core.quantities import show_count
from tongues.recipe import HeldOutLike, TokenSettings
from tongues.text import TextSource
from tongues.text.corpus import Corpus, Selection
from tongues.text.overlap import overlapping
from tongues.text.tokens.store import SplitSummary, read_manifest
from tongues.text.tokens.words import PREPARED, no_split_words

_FEWEST_GROUPS = 10  # independent; of fewer an interval says little
_ENOUGH_GROUPS = 16  # that are advised where there are fewer: half of them are scored
_MOST_HELD = 0.2  # of a language's text, that is advised to hold out; chosen
_STRATUM = 0.1  # share of a language's text from which a source or a length is represented
_CLASS = 16  # a class of lengths is documents up to so many times longer; 4 drew too many
_OFF = 0.3  # of the share that was asked for, from which one of few groups is mended; chosen
_ENOUGH = 0.8  # share of the tokens wanted that must be left when overlapping documents are gone

_REPEATED = 0.5  # share of a file's held-out text that is in others, from which it is left out
_FEWEST_REPEATED = 3  # of its documents, at least; chosen

# Of `train` and `valid`, and `overlap` and `repeated` (neither), by their numbers in the corpus, as
# they are written.
Documents = Mapping[str, np.ndarray]


def draw_held_out(
    settings: TokenSettings, corpus: Corpus, selection: Selection, lengths: np.ndarray
) -> np.ndarray:
    """Whether each document of the corpus is drawn to be held out.

    A component (documents that share a group or are similar, in any language) is drawn as a whole
    where the hashes of all its groups are in the share of hash space. So no text that is added can
    put a document into the held-out text that was trained on before. lengths: tokens.
    """
    kept = selection.kept
    group = corpus.numbers("group_hash")[kept]
    component = np.unique(selection.component[kept], return_inverse=True)[1]
    rank = np.zeros(component.max(initial=-1) + 1, dtype=np.uint64)
    np.maximum.at(rank, component, group)
    wanted, frozen = settings.held_out, dict[str, list[str]]()
    if isinstance(wanted, HeldOutLike):
        frozen = read_manifest(Path(wanted.like))["held_out"]
        wanted = TokenSettings().held_out
        assert not isinstance(wanted, HeldOutLike)
    drawn = np.zeros(len(rank), dtype=bool)
    strata = _strata(corpus, kept)
    for code, lang in enumerate(corpus.languages):
        if lang not in frozen:
            here = np.flatnonzero(corpus.lang[kept] == code)
            tokens, of_language = lengths[kept[here]], [each[here] for each in strata]
            drawn[_draw(wanted, component[here], tokens, rank, of_language)] = True
    hashes = [int(each, 16) for groups in frozen.values() for each in groups]
    held_out = np.zeros(corpus.count, dtype=bool)
    held_out[kept] = drawn[component] | np.isin(group, np.array(hashes, dtype=np.uint64))
    return held_out


def _strata(corpus: Corpus, documents: np.ndarray) -> list[np.ndarray]:
    """The source of each document, and its class of length."""
    names = {name: n for n, name in enumerate({(p.lang, p.source): 0 for p in corpus.parts})}
    sources = [names[part.lang, part.source] for part in corpus.parts]
    source = np.repeat(sources, [part.count for part in corpus.parts])[documents]
    sizes = np.maximum(corpus.sizes[documents], 1)
    return [source, (np.log(sizes) / np.log(_CLASS)).astype(np.int64)]


def _draw(
    wanted: int | float,
    component: np.ndarray,
    tokens: np.ndarray,
    rank: np.ndarray,
    strata: Sequence[np.ndarray],
) -> np.ndarray:
    """The components of a language that are held out.

    A share of hash space, or as many in the order of hashes as hold the tokens wanted; and of a
    source or a length that is much of the text, at least one. None holds half of the text. Where a
    share is of few groups and they are far from it, as many in that order as are nearest.
    """
    sizes = np.bincount(component, tokens, len(rank))
    total = sizes.sum()
    order = np.flatnonzero((sizes > 0) & (2 * sizes <= total))
    order = order[np.argsort(rank[order], kind="stable")]
    if isinstance(wanted, float):
        count = int(np.searchsorted(rank[order] / 2.0**64, wanted))
        off = np.abs(np.append(0, np.cumsum(sizes[order])) / max(total, 1) - wanted)
        if wanted * len(order) < _FEWEST_GROUPS and off[count] > _OFF * wanted:
            count = int(off.argmin())
    else:
        count = int(np.searchsorted(np.cumsum(sizes[order]), wanted)) + 1
    drawn = np.zeros(len(rank), dtype=bool)
    drawn[order[:count]] = True
    for stratum in strata:
        for label in np.unique(stratum):
            inside = stratum == label
            much = tokens[inside].sum() >= _STRATUM * total
            if not much or drawn[component[inside]].any():
                continue
            first = order[np.isin(order, component[inside])][:1]
            if (sizes[drawn].sum() + sizes[first].sum()) * 2 <= total:
                drawn[first] = True
    return np.flatnonzero(drawn)


def split_documents(
    settings: TokenSettings,
    lang: str,
    corpus: Corpus,
    sources: Sequence[TextSource],
    selection: Selection,
    lengths: np.ndarray,
    held_out: np.ndarray,
) -> Documents:
    """The documents of a language in the order of their hashes.

    So a smaller amount of text is the beginning of a larger one. A UserError where there is too
    little text to hold some out and train on the rest.
    """
    order = np.lexsort((np.arange(corpus.count), corpus.numbers("exact")))
    order = order[corpus.lang[order] == corpus.languages.index(lang)]
    without, repeated = _left_out(lang, corpus, selection, held_out)
    left_out = without[order]
    kept, inside = selection.reason[order] == 0, held_out[order] & ~left_out
    valid, train = order[kept & inside], order[kept & ~inside & ~left_out]
    limited = _limited(lang, train, corpus, sources, lengths)
    wanted = settings.held_out if isinstance(settings.held_out, int) else 1
    total, held, left = (int(lengths[each].sum()) for each in (order[kept], valid, train))
    if held < _ENOUGH * wanted or left < wanted or not len(limited):
        groups = len(np.unique(selection.component[order[kept]]))
        why, hint = no_split_words(total, held, left, wanted, groups, int((~kept).sum()))
        raise UserError(why, where=f"text of {lang}", hint=hint)
    overlap = order[kept & left_out & ~repeated[order]]
    again = order[repeated[order]]
    return {"train": limited, "valid": valid, "overlap": overlap, "repeated": again}


def _left_out(
    lang: str, corpus: Corpus, selection: Selection, held_out: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Documents that go because of text on the other side of the split, and of a file repeated.

    Of a held-out document and the training documents that overlap with it, the fewer bytes go;
    and training documents that are similar to held-out text that is frozen.
    """
    kept = selection.reason == 0
    frozen = np.isin(selection.component, np.unique(selection.component[held_out]))
    left_out = kept & ~held_out & frozen
    sizes = corpus.sizes
    pairs = overlapping(corpus, lang, held_out, kept & ~held_out & ~left_out)
    repeated = _repeated(lang, corpus, pairs, held_out) & kept
    pairs = pairs[~repeated[pairs].any(axis=1)]
    left_out |= repeated
    held, index = np.unique(pairs[:, 0], return_inverse=True)
    goes = sizes[held] <= np.bincount(index, sizes[pairs[:, 1]], len(held))
    left_out[held[goes]] = True
    left_out[pairs[~goes[index], 1]] = True
    return left_out, repeated


def _repeated(lang: str, corpus: Corpus, pairs: np.ndarray, held_out: np.ndarray) -> np.ndarray:
    """The documents of the file whose text is in other files too, such as one of all articles.

    Of its held-out text, half or more overlaps with training text of other files. Of two such
    files, the one with fewer documents. pairs: of overlapping documents, held-out and not.
    """
    of_language = corpus.lang == corpus.languages.index(lang)
    held = np.flatnonzero(of_language & held_out)
    file, (own, other) = corpus.files_of(held), map(corpus.files_of, pairs.T)
    inside = np.isin(held, pairs[own != other, 0])
    names, of, counts = np.unique(file.astype(str), return_inverse=True, return_counts=True)
    sizes = corpus.sizes[held]
    share = np.bincount(of, sizes * inside, len(names)) / np.bincount(of, sizes, len(names))
    found = names[(share >= _REPEATED) & (counts >= _FEWEST_REPEATED)]
    if not len(found):
        return np.zeros(corpus.count, dtype=bool)
    files = corpus.files_of(np.arange(corpus.count))
    return of_language & (files == min(found, key=lambda name: ((files == name).sum(), name)))


def _limited(
    lang: str, train: np.ndarray, corpus: Corpus, sources: Sequence[TextSource], lengths: np.ndarray
) -> np.ndarray:
    """Of each source with a limit in tokens, the first documents in the order of hashes."""
    part_of = corpus.part_of(train)
    limited = [p for p in sources if p.lang == lang and p.at_most and p.at_most.unit == "tokens"]
    for first in {id(source.settings): source for source in limited}.values():
        names = {source.name for source in limited if source.settings is first.settings}
        in_source = [part.lang == lang and part.source in names for part in corpus.parts]
        from_source = np.array(in_source, dtype=bool)[part_of]
        assert first.at_most
        beyond = from_source & (
            np.cumsum(np.where(from_source, lengths[train], 0)) > first.at_most.number
        )
        train, part_of = train[~beyond], part_of[~beyond]
    return train


def source_names(corpus: Corpus, numbers: np.ndarray) -> list[str]:
    """Where each of some documents is from: a file, a data set, or the folder of many files."""
    names: dict[tuple[str, str], str] = {}
    for each in corpus.sources:
        folders = [path.rpartition("/")[0] for path, _ in each["content"]]
        one = len(folders) > 1 and len(set(folders)) == 1
        names[each["lang"], each["name"]] = folders[0] if one else each["title"]
    of_part = [names[part.lang, part.source] for part in corpus.parts]
    return [of_part[number] for number in corpus.part_of(numbers).tolist()]


def summarise_split(
    corpus: Corpus, selection: Selection, documents: Documents, lengths: np.ndarray
) -> SplitSummary:
    """What a language's held-out text consists of, next to its training text; lengths: tokens."""
    sizes, titles = corpus.sizes, corpus.titles
    sources: dict[str, dict[str, int]] = {}
    for split, numbers in documents.items():
        owner = corpus.part_of(numbers)
        for number in np.unique(owner).tolist():
            row = sources.setdefault(titles[number], dict.fromkeys(documents, 0))
            row[split] += int(sizes[numbers[owner == number]].sum())
    overlap, every = documents["overlap"], np.append(documents["train"], documents["valid"])
    groups = len(np.unique(selection.component[documents["valid"]]))
    again = documents["repeated"]
    few = groups < _FEWEST_GROUPS and not len(again)  # of which other documents would be drawn
    enough = _enough(corpus, selection, every, lengths) if few else 0
    return SplitSummary(
        groups=groups,
        **({"enough": enough} if enough else {}),
        overlap={"documents": len(overlap), "bytes": int(sizes[overlap].sum())},
        sources=sources,
        repeated="".join(corpus.files_of(again[:1])),
    )


def _enough(
    corpus: Corpus, selection: Selection, documents: np.ndarray, lengths: np.ndarray
) -> int:
    """Tokens to hold out for groups enough, as they are drawn; 0 where that is much of the text."""
    names, component = np.unique(selection.component[documents], return_inverse=True)
    sizes = np.bincount(component, lengths[documents], len(names))
    rank = np.zeros(len(names), dtype=np.uint64)
    np.maximum.at(rank, component, corpus.numbers("group_hash")[documents])
    drawn = sizes[np.argsort(rank, kind="stable")]
    tokens = int(drawn[2 * drawn <= drawn.sum()][:_ENOUGH_GROUPS].sum())
    there = len(names) >= _ENOUGH_GROUPS and tokens <= _MOST_HELD * drawn.sum()
    return tokens if there else 0


def split_cautions(lang: str, split: SplitSummary) -> Iterator[Caution]:
    """What to look at: too few groups in the held-out text, a file left out."""
    if (count := split["groups"]) < _FEWEST_GROUPS:
        few, more = PREPARED["one_group" if count == 1 else "few_groups"], PREPARED["split_more"]
        if enough := split.get("enough"):
            more = PREPARED["hold_out"].format(tokens=show_count(enough))
        yield Caution("few_groups", few.format(lang=lang, count=count, more=more))
    if file := split.get("repeated"):
        yield Caution("repeated_file", PREPARED["repeated_file"].format(lang=lang, file=file))
