"""The balanced tree of languages: in every round, each cluster merges with exactly one other."""

from collections.abc import Sequence
from itertools import combinations

from tongues.core.errors import UserError
from tongues.experts.partition.partition import Distances, Merge, Partition, of_languages

Cluster = tuple[str, ...]


def check_k(k: int, languages: Sequence[str]) -> None:
    """Refuse a number of clusters that the languages cannot fill."""
    if not 1 <= k <= len(languages):
        what = f"{len(languages)} languages cannot fill {k} clusters"
        raise UserError(what, hint=f"choose k from 1 to {len(languages)}")


def by_tree(by: str, distances: Distances, k: int, *, notes: Sequence[str] = ()) -> Partition:
    """The partition of the languages of `distances` into k clusters by their balanced tree."""
    clusters, merges = balanced_tree(distances, k)
    return of_languages(by, clusters, merges=merges, distances=distances, notes=notes)


def balanced_tree(distances: Distances, k: int) -> tuple[tuple[Cluster, ...], tuple[Merge, ...]]:
    """The k clusters of the languages, and every merge from single languages to one cluster.

    The tree is made of rounds in which every cluster merges with exactly one other, the nearest
    pair (by single linkage) first, so that the number of clusters halves. Where the number of
    languages is not k · 2^i, only as many of the nearest pairs merge in the first round as bring
    it to the next lower k · 2^i. From then on a larger cluster takes a smaller one wherever two
    larger ones would make the sizes differ by more than one: each cluster has ⌊n/k⌋ or ⌈n/k⌉
    languages, at any n and k. Above the k clusters the tree continues in the same way to one.

    Clusters and their languages are in the order of `distances`; of pairs equally near, that
    of the first names goes first, so the order changes nothing else.
    """
    check_k(k, languages := tuple(distances))
    order = {lang: i for i, lang in enumerate(languages)}
    merges: list[Merge] = []
    clusters: list[Cluster] = [(lang,) for lang in languages]
    cut: tuple[Cluster, ...] = ()
    for wanted in (k, 1):
        sizes = dict.fromkeys(clusters, 1)
        number = merges[-1].round if merges else 0
        while len(sizes) > wanted:
            number += 1
            goal = wanted
            while 2 * goal < len(sizes):
                goal *= 2
            for left, right, distance in _pairs(sizes, len(sizes) - goal, distances):
                first, second = sorted((left, right), key=lambda cluster: order[cluster[0]])
                merges.append(Merge(first, second, distance, number))
                union = tuple(sorted(left + right, key=order.__getitem__))
                sizes[union] = sizes.pop(left) + sizes.pop(right)
        clusters = sorted(sizes, key=lambda cluster: order[cluster[0]])
        cut = cut or tuple(clusters)
    return cut, tuple(merges)


def _pairs(
    sizes: dict[Cluster, int], count: int, distances: Distances
) -> list[tuple[Cluster, Cluster, float]]:
    small = min(sizes.values())
    large = sum(size > small for size in sizes.values())
    left = [max(0, count - large), 0, max(0, large - count)]  # pairs with 0, 1, 2 large ones
    left[1] = count - left[0] - left[2]
    nearest = sorted(
        (min(distances[x][y] for x in a for y in b), tuple(sorted(a + b)), a, b)
        for a, b in combinations(sizes, 2)
    )
    free, pairs = set(sizes), []
    for distance, _, a, b in nearest:
        kind = (sizes[a] > small) + (sizes[b] > small)
        if a in free and b in free and left[kind]:
            left[kind] -= 1
            free -= {a, b}
            pairs.append((a, b, distance))
    return pairs
