"""What people do to a fit: tables that no law should come of, or not without a word."""

import numpy as np

from tests.laws.made import CHINCHILLA, Columns, codes, noise, rows_of
from tongues import laws

ROWS = rows_of(CHINCHILLA, 0.005)


def fitted(law="chinchilla", **changed):
    return laws.fit(law, draws=0, **ROWS | changed)


def test_experiments_thrown_together_pin_nothing_down():
    other = rows_of(CHINCHILLA | {"E": 2.6}, 0.005, seed=1)
    both: Columns = {name: np.concatenate([ROWS[name], other[name]]) for name in ROWS}
    law = laws.fit("chinchilla", draws=0, **both)
    assert "mixed_experiments" in codes(law)
    assert law.loose
    assert not law.to_json()["pinned_down"]
    assert "mixed_experiments" not in codes(fitted())
    noise = fitted(loss=np.random.default_rng(0).uniform(2.0, 4.0, len(ROWS["N"])))
    assert "mixed_experiments" in codes(noise)
    assert noise.loose


def test_a_form_that_the_runs_bend_from_is_named_with_how_much_and_how_sure():
    size, tokens = 480.0 * ROWS["N"] ** -0.35, 2000.0 * ROWS["D"] ** -0.37
    bound = 1.8 + (size**2.5 + tokens**2.5) ** 0.4  # and not only added
    law = fitted(loss=bound * noise(len(ROWS["N"]), 0.003))
    assert "lack_of_fit" in codes(law)
    assert "lack_of_fit" not in codes(fitted())
    sentence = next(w.sentence for w in law.warnings if w.code == "lack_of_fit")
    assert "of the loss" in sentence


def test_a_kink_at_large_sizes_widens_what_is_predicted():
    kink = np.where(ROWS["N"] > 2e9, 1.03, 1.0)
    straight, bent = (
        fitted().predict(3e10, 3e12),
        fitted(loss=ROWS["loss"] * kink).predict(3e10, 3e12),
    )
    assert (bent.high - bent.low).item() > 1.5 * (straight.high - straight.low).item()


def test_sizes_in_millions_and_swapped_columns_are_seen():
    law = fitted(N=ROWS["N"] / 1e6, D=ROWS["D"] / 1e9)
    first, second, *_ = [x.sentence for x in law.warnings if x.code == "implausible_amounts"]
    assert "parameters; " in first and "like `params (M)`" in first
    assert "tokens; " in second and "like `tokens (M)`" in second
    assert "implausible_amounts" in codes(fitted(N=1e4 * ROWS["D"], D=ROWS["N"]))
