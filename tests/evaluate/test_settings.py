import pytest

from tests.report.experts.measured import BASE, LANGS, compared, seen
from tests.report.experts.test_experts_page import added_outcome


@pytest.mark.parametrize(
    ("less", "choice", "as_good"),
    [(0.05, "typology-2", False), (-0.05, "dense", False), (0.005, "typology-2", True)],
)
def test_the_settings_and_the_partition_to_use(less: float, choice: str, as_good: bool) -> None:
    experts = seen(compared(less))
    routed = [f"typology-2, {routing}" for routing in ("filter:1", "tfidf:1", "tfidf")]
    assert [each.name for each in experts.settings] == ["base", "dense", *routed]
    assert experts.base.loss == pytest.approx(sum(BASE.values()) / 4)
    assert experts.dense is experts.settings[1] and experts.partitions == ["typology-2"]
    assert (experts.choice, experts.as_good) == (choice, as_good)
    best = experts.best_of_each["typology-2"]
    assert best.name == routed[0]
    difference = best.difference("dense", "qab")
    assert difference and difference.value == pytest.approx(-less)


def test_routings_that_are_gone_are_left_out_of_older_evaluations() -> None:
    plain = compared(-0.05)
    (kept,) = (model for model in plain["models"] if model["routing"] == "tfidf")
    plain["models"].append(kept | {"routing": "posterior"})
    assert seen(plain).settings == seen(compared(-0.05)).settings


def test_how_far_each_expert_rose_and_what_was_added() -> None:
    rises = {(each.expert, each.lang): each.rise for each in seen(compared(0.05)).rises}
    assert rises["0: qaa, qab", "qab"] == -0.25 and rises["1: qac, qad", "qab"] == 0.5
    added = seen(added_outcome()).added
    assert added and added.alone == {"qac": BASE["qac"] - 0.5, "qad": BASE["qad"] - 1.0}
    roles = ["", "", "donor of qad", "added, from qac"]
    assert [added.role(lang) for lang in LANGS] == roles
