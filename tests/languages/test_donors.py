import pytest

from tongues.core.errors import UserError
from tongues.languages import find_language, languages
from tongues.languages.catalogue import packaged_rows
from tongues.languages.donors import (
    best_donor,
    confusable_languages,
    measured_transfer,
    rank_donors,
)


def tags(target: str, candidates: tuple[str, ...]) -> list[str]:
    ranked = rank_donors(find_language(target), [find_language(name) for name in candidates])
    return [donor.language.tag for donor in ranked]


def test_measured_scores_come_before_forecasts() -> None:
    donors = rank_donors(find_language("uk"), [find_language(name) for name in ("ru", "be", "th")])
    russian, belarusian, thai = donors
    assert (russian.language.tag, russian.measured, russian.score.value) == ("ru", True, 0.3)
    assert (belarusian.language.tag, belarusian.measured) == ("be", False)
    assert thai.score.value == -0.3
    assert belarusian.score.low is not None
    assert belarusian.score.low < belarusian.score.value


def test_relatives_come_first_where_nothing_was_measured() -> None:
    assert tags("xh", ("en", "zu", "ar", "zh"))[0] == "zu"
    assert tags("fo", ("es", "is", "th", "ja"))[0] == "is"
    assert tags("mfe", ("fr", "ru", "ja", "hi"))[0] == "fr"
    assert tags("he", ("ja", "ar", "th"))[0] == "ar"


@pytest.mark.parametrize(
    ("target", "first"),
    [("hu", "fi"), ("ug", "azb"), ("th", "lo"), ("lo", "th"), ("ja", "en"), ("ka", "en")],
)
def test_first_donors_are_those_an_expert_would_name(target: str, first: str) -> None:
    donors = [donor.language.tag for donor in rank_donors(find_language(target), count=3)]
    assert donors[0] == first
    assert "he" not in donors


def test_a_language_is_no_donor_of_itself_in_another_script() -> None:
    every = languages()
    for target in ("ug", "sr-Latn", "hi"):
        donors = rank_donors(find_language(target), every, count=20)
        assert find_language(target).code not in [donor.language.code for donor in donors]
    assert rank_donors(find_language("sw"), [find_language("swa")]) == ()


def test_the_best_donor_keeps_the_name_it_was_given() -> None:
    assert best_donor("xho", ["en", "zul_Latn", "fr"]) == "zul_Latn"
    with pytest.raises(UserError, match="no other language"):
        best_donor("sw", ["swh"], "experts.add.sw")
    with pytest.raises(UserError, match=r"experts\.add"):
        best_donor("qaa", ["en"], "experts.add.qaa")


def test_languages_that_identification_may_mix_up() -> None:
    assert "bs" in [of.tag for of in confusable_languages(find_language("hr"))]
    assert "hr" in [of.tag for of in confusable_languages(find_language("bs"))]
    assert "xh" in [of.tag for of in confusable_languages(find_language("zu"))]
    assert confusable_languages(find_language("fi")) == ()
    assert confusable_languages(find_language("af")) == ()  # the first row of the table
    assert confusable_languages(find_language("Ankave")) == ()


def test_every_donor_has_text() -> None:
    donors = rank_donors(find_language("Ankave"), count=5)
    assert len(donors) == 5
    assert all(donor.language.text_bytes >= 1e8 for donor in donors)


def test_the_scores_are_those_of_the_table() -> None:
    rows = packaged_rows("transfer.csv")
    scores = measured_transfer()
    assert len(scores) == 290
    assert scores["es", "pt"] == 0.5
    assert scores["nb", "sv"] == float(next(row for row in rows if row["target"] == "nb")["sv"])
