"""Which groups are held out."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tongues.text import hash64
from tongues.tokens.writing import held_out_groups


def test_hashes_stay_what_they_are() -> None:
    assert hash64("made:1:0") == 8537342164210112582  # by b2sum -l 64, little-endian


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 50)), min_size=1), st.data())
def test_enough_is_held_out_and_less_than_twice(
    documents: list[tuple[int, int]], data: st.DataObject
) -> None:
    hashes, tokens = (np.array(column) for column in zip(*documents, strict=True))
    amount = data.draw(st.integers(1, int(tokens.sum())))
    chosen = held_out_groups(hashes.astype(np.uint64), tokens, amount)
    sizes = {group: int(tokens[hashes == group].sum()) for group in set(hashes.tolist())}
    held = sum(sizes[int(group)] for group in chosen)
    assert held >= amount
    small = [group for group, size in sizes.items() if size <= amount]
    if sum(sizes[group] for group in small) >= amount:
        assert held < 2 * amount
        assert sorted(chosen.tolist()) == sorted(small)[: len(chosen)]


def test_more_held_out_contains_less() -> None:
    rng = np.random.default_rng(1)
    hashes, tokens = rng.integers(0, 2**63, 500).astype(np.uint64), rng.integers(1, 20, 500)
    less, more = (held_out_groups(hashes, tokens, amount) for amount in (300, 900))
    assert more[: len(less)].tolist() == less.tolist()
