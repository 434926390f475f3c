import numpy as np
import pytest

from tests.laws.made import CHINCHILLA, needs_runs, read
from tongues import laws
from tongues.laws import Law

FAR = {**CHINCHILLA, "M": 8.0, "G": 0.008, "a": 1.6, "b": 1.3, "c": 0.4, "k": 6.0}


def test_a_law_that_turns_upward_rises_with_epochs_and_size():
    law = Law("overfitted", FAR)
    epochs = np.array([1.0, 4.0, 100.0, 400.0])
    small, large = (law.loss(N, 1e9 * epochs, U=1e9) for N in (1e8, 4e9))
    assert large[1] < large[0]
    assert large[3] > large[2] > large[1]
    assert small[3] < large[3]
    once = Law("chinchilla", CHINCHILLA).loss(4e9, 1e11)
    assert law.loss(4e9, 1e11, U=1e11) == pytest.approx(float(once), rel=1e-2)


@needs_runs
def test_published_runs_of_repeated_text_are_predicted_from_other_sizes():
    rows = read("muennighoff_c4_datablations.csv")
    N, D, U, loss = (
        np.array([float(row[n]) for row in rows]) for n in ("N", "D", "unique_D", "loss")
    )
    out = np.round(np.log(N), 1) == 21.5  # 2.16B
    law = laws.fit("overfitted", loss[~out], N=N[~out], D=D[~out], U=U[~out], draws=0)
    far = out & (D / U > 15)
    off = np.abs(law.loss(N[far], D[far], U=U[far]) / loss[far] - 1)
    preset = laws.preset("muennighoff2023").loss(N[far], D[far], U=U[far])
    assert off.mean() < 0.06
    assert np.abs(preset / loss[far] - 1).mean() > 0.3
