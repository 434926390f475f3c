import math

from tongues.errors import Caution
from tongues.laws import FORMS, Law, preset
from tongues.laws.describe import laws_section


def fitted() -> Law:
    return Law(
        "chinchilla",
        {"E": 1.7, "A": 400.0, "B": 2000.0, "alpha": 0.34, "beta": 0.37},
        interval={"E": (1.6, 1.8), "A": (300.0, 500.0), "B": (1.5e3, 3e3), "alpha": (0.3, 0.4)},
        fixed={"beta": 0.37},
        mean_huber=1.5e-6,
        n_rows=24,
        n_runs=12,
        range={"N": (25e6, 3.2e9), "D": (125e6, 256e9), "loss": (2.05, 5.06)},
        warnings=(Caution("few_runs", "only 12 runs to resample"),),
        strategy="scratch",
        target="sw",
    )


def test_a_law_is_told_with_what_it_rests_on() -> None:
    said = laws_section([fitted()])
    assert said.startswith("## Laws\n")
    assert "### chinchilla, scratch runs of sw" in said
    assert "`L = E + A/N^alpha + B/D^beta`, in nats per token; N parameters of the model" in said
    assert "| alpha | 0.34 | 0.3 to 0.4 |" in said
    assert "| beta | 0.37 | fixed |" in said
    assert "- fitted to 24 rows of 12 scratch runs" in said
    assert "- seen: N 25M to 3.2B, D 125M to 256B, loss 2.05 to 5.06; beyond that" in said
    assert said.endswith("Cautions:\n\n- only 12 runs to resample (few_runs)\n")
    assert "nan" not in said


def test_every_form_has_its_variables_in_words() -> None:
    for form in FORMS:
        law = Law(form.name, dict.fromkeys(form.names, 0.5))
        said = laws_section([law])
        assert all(f" {name} " in said for name in form.variables), form.name


def test_a_published_law_names_its_source_and_no_fit() -> None:
    law = preset("hoffmann2022-full")
    said = laws_section([law, fitted()])
    assert f"- from {law.source}" in said
    assert said.count("- fitted to") == 1
    assert math.isnan(law.mean_huber) and "nan" not in said
