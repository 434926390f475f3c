from tongues.estimate import Estimate
from tongues.significance import (
    Signs,
    about_signs,
    chance,
    in_words,
    measured_in_words,
    signs_in_words,
)


def test_a_difference_is_told_or_cannot_be_told_apart():
    assert in_words(Estimate(-0.12, -0.16, -0.08, p=0.001)) == "lower by 0.12 [0.08, 0.16]"
    assert in_words(Estimate(0.12, 0.08, 0.16, p=0.001)) == "higher by 0.12 [0.08, 0.16]"
    assert in_words(Estimate(0.04, -0.01, 0.09, p=0.1)) == "cannot be told apart [-0.01, 0.09]"
    points = in_words(Estimate(0.031, 0.01, 0.052, p=0.01), lambda v: f"{100 * v:.1f}", "points")
    assert points == "higher by 3.1 [1.0, 5.2] points"


def test_why_it_cannot_is_said():
    few = Estimate(0.1, None, None, reason="6 documents are needed, there are 2")
    assert in_words(few) == "too few to tell (6 documents are needed, there are 2)"
    small = Estimate(1.4, 0.87, 1.89, p=0.06, among=2, reason="7 documents are needed, there are 6")
    assert in_words(small) == "too few to tell [0.87, 1.89] (7 documents are needed, there are 6)"
    many = Estimate(0.1, 0.01, 0.19, p=0.3, among=16)  # told by itself
    assert in_words(many) == "cannot be told apart [0.01, 0.19], allowing for 16 comparisons"
    none = Estimate(0.1, -0.01, 0.19, p=0.3, among=16)
    assert in_words(none) == "cannot be told apart [-0.01, 0.19]"


def test_an_accuracy_stands_beside_chance():
    guess = chance([2] * 100)
    assert (guess.level, guess.error) == (0.5, 0.05)
    assert chance([2, 4]).level == 0.375
    said = [
        measured_in_words(Estimate(value, value - 0.1, value + 0.1), chance=guess)
        for value in (0.7, 0.55, 0.3)
    ]
    assert said == [
        "0.70 [0.60, 0.80], above chance (0.50 ± 0.05)",
        "0.55 [0.45, 0.65], cannot be told from chance (0.50 ± 0.05)",
        "0.30 [0.20, 0.40], below chance (0.50 ± 0.05)",
    ]
    assert measured_in_words(Estimate(2.0, 1.5, 2.5)) == "2.00 [1.50, 2.50]"
    assert measured_in_words(
        Estimate(0.5, None, None, reason="10 items are needed, there are 4")
    ) == ("0.50 (10 items are needed, there are 4)")


def test_counts_say_how_many_would_tell():
    assert signs_in_words(Signs(13, 3, 1)) == "ahead in 13 of 16 languages, 1 tie"
    assert signs_in_words(Signs(4, 12, 0)) == (
        "behind in 12 of 16 languages: cannot be told apart (13 of 16 would tell)"
    )
    assert signs_in_words(Signs(13, 3, 0, among=4)) == (
        "ahead in 13 of 16 languages: cannot be told apart (14 of 16 would tell)"
    )
    assert signs_in_words(Signs(2, 0, 2)) == "ahead in 2 of 2 languages, 2 ties: too few to tell"
    assert signs_in_words(Signs(12, 4, 0, translated=True)) == "ahead in 12 of 16 languages"


def test_why_counts_tell_nothing_is_said_once():
    few, many = Signs(2, 0, 0, among=2), Signs(20, 0, 0)
    assert about_signs([few, few, many]) == [
        "a count of languages tells something from 7 languages on"
    ]
    assert about_signs([Signs(1, 0, 0), many]) == []  # one language is no count
    assert "say the same" in about_signs([Signs(9, 0, 0, translated=True)])[0]
