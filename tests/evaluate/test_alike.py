import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tongues.evaluate.alike import Row, common_beginnings, families_of, in_batches

SIZES = st.lists(st.integers(1, 400), min_size=1, max_size=60)


def behind(shown: np.ndarray, family: int, size: int, choices: int = 2) -> list[Row]:
    """Choices of one token behind a context that begins as others do."""
    own = 1000 + 100 * family + np.arange(size)
    context = np.concatenate([shown, own])
    tokens = [np.concatenate([context, [choice]]) for choice in range(choices)]
    return [Row(each, len(context), None, family) for each in tokens]


def groups(rows: list[Row]) -> list[tuple[int, list[int]]]:
    """The length of each beginning, and the families behind it."""
    found = common_beginnings(families_of(rows, range(len(rows))))
    return [(length, sorted(rows[one.rows[0]].family for one in own)) for length, own in found]


def test_a_family_shares_what_none_of_its_rows_needs_a_score_of() -> None:
    rows = [
        Row(np.array([0, 1, 2, 3, 4]), 4, None, 5),
        Row(np.array([0, 1, 2, 3, 5]), 4, None, 5),
        Row(np.array([0, 1, 9, 3, 5]), 3, None, 6),
        Row(np.array([0, 1, 8, 3, 5]), 3, None, 6),
    ]
    first, second = families_of(rows, range(4))
    assert (first.rows, first.shared, first.beginning.tolist()) == ((0, 1), 3, [0, 1, 2])
    assert (second.rows, second.shared) == ((2, 3), 2)


def test_every_draw_of_demonstrations_is_a_beginning_of_its_own() -> None:
    one, other, short = np.arange(1, 81), np.arange(1, 61) % 37 + 1, np.arange(1, 9)
    rows = [row for n in range(6) for row in behind(one, n, 3)]
    rows += [row for n in range(6, 11) for row in behind(other, n, 4)]
    rows += [row for n in range(11, 14) for row in behind(short, n, 2)]
    assert sorted(groups(rows)) == [
        (0, [11, 12, 13]),
        (60, [6, 7, 8, 9, 10]),
        (80, [0, 1, 2, 3, 4, 5]),
    ]


@given(SIZES, st.integers(1, 3), st.integers(0, 9))
def test_every_family_stands_behind_what_it_begins_with(
    sizes: list[int], draws: int, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    shown = [chance.integers(1, 4, 40) for _ in range(draws)]
    rows = [
        row
        for n, size in enumerate(sizes)
        for row in behind(shown[n % draws], n, size % 7, 1 + n % 3)
    ]
    families = families_of(rows, range(len(rows)))
    met: list[int] = []
    for length, own in common_beginnings(families):
        beginnings = {family.beginning[:length].tobytes() for family in own}
        assert len(beginnings) == 1
        assert all(family.shared >= length for family in own)
        met += [number for family in own for number in family.rows]
    assert sorted(met) == list(range(len(rows)))


@given(SIZES, st.integers(1, 1000))
def test_batches_hold_all_things_and_as_many_as_fit(sizes: list[int], most: int) -> None:
    found = list(in_batches(sizes, int, lambda longest, count: longest * count <= most))
    assert sorted(size for batch in found for size in batch) == sorted(sizes)
    for batch in found:
        assert len(batch) == 1 or batch[0] * len(batch) <= most
        assert batch[0] == max(batch)
        assert batch[0] - min(batch) <= max(8, batch[0] // 8)
