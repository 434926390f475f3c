from itertools import chain

import numpy as np
import pytest

from tongues.core.errors import UserError
from tongues.laws.observed import RunCurves, gather_runs, twin, usual_bases


def rows_of(name, strategy="scratch", target="xx", tokens=1000, parent=None, **changes):
    """Of a run evaluated on its target at the start, halfway and in the end."""
    shared = {
        "run": f"study/{name}",
        "strategy": strategy,
        "target": target,
        "base_languages": "home" if strategy == "cpt" else "",
        "replay": 0.0,
        "base": parent and f"study/{parent}",
        "shape": "1M",
        "seed": 1,
        "tokens_fingerprint": "1",
        "params": 1_000_000,
        "lang": target,
        "share": 1.0,
        "bits_per_byte": 1.0,
    } | changes
    return [
        shared
        | {
            "step": step,
            "tokens": step * tokens // 2,
            "tokens_lang": round(step * tokens // 2 * (1 - shared["replay"])),
            "flops": 6e6 * step * tokens / 2,
            "loss": 7.0 - step - tokens / 1e6,
        }
        for step in range(3)
    ]


def runs_of(*rows) -> dict[str, RunCurves]:
    return {run.name.removeprefix("study/"): run for run in gather_runs(chain(*rows))}


def test_a_run_knows_its_base_and_what_it_saw_of_each_language():
    runs = runs_of(
        rows_of("source", "source", target="home", tokens=5000),
        rows_of("cpt", "cpt", parent="source", replay=0.2),
        rows_of("other", "cpt", parent="not at hand"),
    )
    assert runs["cpt"].base_tokens == 5000
    assert runs["other"].base_tokens is runs["source"].base_tokens is None
    np.testing.assert_array_equal(runs["cpt"].seen["xx"], [0, 400, 800])


def test_runs_of_different_preparations_are_named():
    rows = [rows_of(f"a{n}") for n in range(5)] + [rows_of("b", tokens_fingerprint="2")]
    named = "text: study/a0, study/a1, study/a2 and 2 more; study/b\n"
    with pytest.raises(UserError, match=named):
        runs_of(*rows)


def test_a_twin_is_of_the_same_length_before_all_else():
    runs = runs_of(
        *(rows_of(f"scratch-{tokens}", tokens=tokens) for tokens in (500, 1000, 4000)),
        rows_of("elsewhere", tokens=1000, run="another/scratch"),
        *(rows_of(f"cpt-{tokens}", "cpt", tokens=tokens) for tokens in (1000, 2500, 1004)),
        rows_of("cpt-of-seed-2", "cpt", seed=2),
    )
    every = list(runs.values())
    for name, expected in (("cpt-1000", 1000), ("cpt-2500", 4000), ("cpt-1004", 1000)):
        found = twin(runs[name], every)
        assert found and found.name == f"study/scratch-{expected}"
    assert twin(runs["cpt-of-seed-2"], every) is None
    only = twin(runs["cpt-1000"], [runs["another/scratch"], runs["scratch-4000"]])
    assert only and only.name == "another/scratch"


def test_the_usual_base_is_the_one_most_runs_continue_from():
    bases = [rows_of(f"source-{t}", "source", target="home", tokens=t) for t in (2000, 9000)]
    continued = [
        rows_of(f"cpt-{t}-{seed}", "cpt", parent=f"source-{t}", seed=seed)
        for t, seeds in ((2000, (1,)), (9000, (1, 2)))
        for seed in seeds
    ]
    runs = runs_of(*bases, *continued)
    kept = {run.name for run in usual_bases(list(runs.values()))}
    left_out = {run.name for run in runs.values()} - kept
    assert left_out == {"study/cpt-2000-1"}
    as_many = [run for name, run in runs.items() if name != "cpt-9000-2"]
    assert "study/cpt-9000-1" not in {run.name for run in usual_bases(as_many)}
