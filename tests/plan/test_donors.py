import pytest

from tests.golden import golden
from tongues.plan.bases import read_base
from tongues.plan.donors import donor_sentences

BASES = ("llama-3.2-1b", "llama=8B@15T", "mistral-7b-v0.1")  # nobody names the second's languages


@pytest.mark.parametrize("language", ["uk", "sux", "yo", "th"])  # the first base knows Thai
def test_the_best_donors_are_named_and_those_that_a_base_has(language: str) -> None:
    lines = donor_sentences(language, [read_base(base) for base in BASES])
    golden(f"plan/donors of {language}", "\n".join(lines))
