from tongues.plan.bases import read_base
from tongues.plan.donors import donor_sentences


def test_the_best_donors_are_named_and_those_that_a_base_has() -> None:
    bases = [read_base("llama-3.2-1b"), read_base("llama=8B@15T"), read_base("mistral-7b-v0.1")]
    first, llama, mistral = donor_sentences("uk", bases)
    assert "Ukrainian gains most" in first
    assert "Russian (`ru`, +0.30, measured)" in first
    assert "Llama-3.2-1B" in llama
    assert "Mistral" in mistral  # a base whose languages nobody names has no line


def test_no_gain_is_claimed_from_donors_that_are_forecast_to_harm() -> None:
    (sumerian,) = donor_sentences("sux", [])
    assert "Sumerian gains from no other language; it loses least from" in sumerian
    (yoruba,) = donor_sentences("yo", [])
    assert yoruba.endswith("Yoruba gains most from a model or text of Igbo (`ig`, +0.03).")


def test_a_base_that_has_the_language_needs_no_donor() -> None:
    (first,) = donor_sentences("th", [read_base("llama-3.2-1b")])
    assert first.startswith("donors: by transfer")
