"""What experts are trained on, and what they branch from."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from tests.golden import cases, golden
from tongues.core.errors import UserError
from tongues.core.quantities import Budget
from tongues.experts.budgets import share_budget
from tongues.experts.partition.methods import dense, one_each
from tongues.experts.partition.partition import of_languages
from tongues.experts.plans import Round, plan_added, plan_partition
from tongues.recipe import ExpertBudget, Recipe
from tongues.recipe.experts import Experts

AMOUNTS = {"qaa": 3e5, "qab": 1e5, "qac": 1e5, "qad": 1e5}
KNOWN = {"seed": ("qaa", "qab")}  # what each base knows


def recipe(experts: dict[str, Any], **train: Any) -> Recipe:
    languages = {lang: {"parent": None, "divergence": 0.0} for lang in AMOUNTS}
    settings = {"budget": "400k tokens", "base": "seed"} | train
    return Recipe.model_validate(
        {
            "name": "family",
            "text": {"synthetic": {"languages": languages}},
            "train": {key: value for key, value in settings.items() if value is not None},
            "experts": experts,
        }
    )


def test_experts_share_the_budget_and_train_on_their_languages_by_text() -> None:
    pairs = of_languages("typology", [("qaa", "qab"), ("qac", "qad")])
    asked = recipe({"partitions": [{"by": "typology", "k": 2}]})
    made = plan_partition(asked, "typology-2", pairs, AMOUNTS, 7, KNOWN)
    assert made.name == "family/typology-2-s7"
    assert [run.name for run in made.runs] == ["family/typology-2-e0-s7", "family/typology-2-e1-s7"]
    assert [run.settings.budget.amount for run in made.runs] == [200_000, 200_000]
    assert made.runs[0].settings.mixture == {"qaa": 0.75, "qab": 0.25}
    assert {run.base for run in made.runs} == {"seed"}
    assert {run.strategy for run in made.runs} == {"expert"}
    by_text = recipe({"partitions": [{"by": "typology", "k": 2}], "budget": "by text"})
    made = plan_partition(by_text, "typology-2", pairs, AMOUNTS, 7, KNOWN)
    assert [run.settings.budget.amount for run in made.runs] == [266_667, 133_333]


def single(**train: Any) -> Round:
    """An expert for each language."""
    asked = recipe({"partitions": [{"by": "languages"}]}, **train)
    return plan_partition(asked, "languages", one_each(tuple(AMOUNTS)), AMOUNTS, 1, KNOWN)


def test_an_expert_replays_what_its_cluster_does_not_learn() -> None:
    made = single(replay={"qaa": 0.2})
    shares = {run.roles.targets[0]: run.shares for run in made.runs}
    assert shares["qaa"] == {"qaa": 1.0}
    assert shares["qab"] == pytest.approx({"qab": 0.8, "qaa": 0.2})
    assert made.runs[1].roles.replay == {"qaa": 0.2}


def test_an_expert_holds_only_what_it_replays() -> None:
    made = single(replay={"qaa": 0.1}, max_forgetting={"qaa": 0.02})
    held = {run.roles.targets[0]: dict(run.settings.max_forgetting) for run in made.runs}
    assert held == {"qaa": {}} | {lang: {"qaa": 0.02} for lang in ("qab", "qac", "qad")}
    with pytest.raises(UserError, match="`qaa` is to be held and is not replayed"):
        single(max_forgetting={"qaa": 0.02})


def test_equal_shares_when_asked() -> None:
    asked = recipe({"partitions": [{"by": "dense"}], "shares": "equal"})
    made = plan_partition(asked, "dense", dense(tuple(AMOUNTS)), AMOUNTS, 1, KNOWN)
    shares = made.runs[0].settings.mixture
    assert isinstance(shares, dict)
    assert set(shares.values()) == {0.25}


def test_one_expert_for_all_added_languages_reads_them_alike_up_to_four_times() -> None:
    given, amounts = {"qad": "qaa", "qae": "qab"}, AMOUNTS | {"qad": 1e4, "qae": 9e4}
    asked = {"add": given, "add_to": "x", "shared_expert": True}
    for more, small in ({}, 0.1), ({"shares": "by text"}, 0.02):
        of = recipe(asked | more, base=None)
        made = plan_added(of, dense(tuple(amounts)), given, MEMBERS, amounts, 1, KNOWN)
        assert made.runs[0].shares["qad"] == pytest.approx(small)


def test_clusters_of_documents_read_their_own_tokens_and_have_another_identity() -> None:
    whole = dense(tuple(AMOUNTS))
    asked = recipe({"partitions": [{"by": "dense"}]})
    plain = plan_partition(asked, "dense", whole, AMOUNTS, 1, KNOWN).runs[0]
    own = plan_partition(asked, "dense", whole, AMOUNTS, 1, KNOWN, folder="topics-1-abc").runs[0]
    assert own.cluster == "topics-1-abc/0"
    assert own.identity() != plain.identity()
    assert "cluster" not in plain.identity()


FIRST, SECOND = "family/typology-2-e0-s1", "family/typology-2-e1-s1"
MEMBERS = {FIRST: {"qaa": 1.0, "qab": 1.0}, SECOND: {"qac": 1.0}}
KNOWN |= {parent: tuple(languages) for parent, languages in MEMBERS.items()}


def test_a_further_partition_branches_from_the_expert_that_knows_its_languages() -> None:
    asked = recipe({"partitions": [{"by": "languages"}], "add_to": "x"}, base=None)
    singles = of_languages("languages", [("qaa",), ("qab",), ("qac",)])
    made = plan_partition(asked, "languages", singles, AMOUNTS, 1, KNOWN, members=MEMBERS)
    assert [run.base for run in made.runs] == [FIRST, FIRST, SECOND]


def test_a_partition_across_experts_is_refused() -> None:
    asked = recipe({"partitions": [{"by": "dense"}], "add_to": "x"}, base=None)
    across = of_languages("file", [("qaa", "qac")])
    with pytest.raises(UserError, match="no expert of the ensemble knows all of qaa, qac"):
        plan_partition(asked, "file", across, AMOUNTS, 1, KNOWN, members=MEMBERS)


def test_an_added_language_branches_from_its_donor_and_trains_on_both() -> None:
    asked = recipe({"add": {"qad": "qac"}, "add_to": "x"}, base=None)
    made = plan_added(asked, dense(tuple(AMOUNTS)), {"qad": "qac"}, MEMBERS, AMOUNTS, 1, KNOWN)
    (run,) = made.runs
    assert run.base == SECOND
    assert run.settings.mixture == {"qac": 0.5, "qad": 0.5}
    assert made.learned == ({"qac": 1.0, "qad": 1.0},)


def test_all_added_together_need_donors_of_one_expert() -> None:
    asked = recipe({"add": {"qad": "qac"}, "add_to": "x", "shared_expert": True}, base=None)
    given = {"qad": "qac", "qae": "qaa"}
    with pytest.raises(UserError, match="several experts"):
        plan_added(asked, dense(tuple(AMOUNTS)), given, MEMBERS, AMOUNTS | {"qae": 1e5}, 1, KNOWN)


@pytest.mark.parametrize("experts", cases("refused-experts"))
def test_what_makes_no_sense_is_refused(experts: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        recipe(json.loads(experts))
    golden(f"refused-experts/{experts}", str(caught.value).partition("[type=")[0])


def test_two_partitions_by_one_method_are_distinguished_by_a_name() -> None:
    files = [{"by": "file", "file": "one.yaml"}, {"by": "file", "file": "two.yaml"}]
    with pytest.raises(ValueError, match="give one a `name`"):
        recipe({"partitions": files})
    asked = recipe({"partitions": [files[0], files[1] | {"name": "second"}]}).experts
    assert asked
    assert [settings.label for settings in asked.partitions] == ["file", "second"]


BUDGET = TypeAdapter(Budget)
TEXTS = [60e3, 40e3]


def shares_by(rule: object) -> list[float]:
    read = Experts.model_validate({"partitions": [{"by": "dense"}], "budget": rule}).budget
    return share_budget(read, BUDGET.validate_python("100k tokens"), TEXTS)


def test_even_shares_are_named_by_nothing() -> None:
    assert shares_by("even") == []
    assert shares_by("by text") == pytest.approx([0.6, 0.4])
    assert shares_by({"by": "even", "max_epochs": 1}) == pytest.approx([0.6, 0.4])
    assert shares_by({"by": "even", "max_epochs": 1.1}) == pytest.approx([0.56, 0.44])
    assert shares_by({"by": "text", "max_epochs": 1.1}) == pytest.approx([0.6, 0.4])


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("by size", "not a rule; write `even` or `by text`"),
        ({"by": "even", "max_epoch": 2}, "unknown key `max_epoch`"),
    ],
)
def test_wrong_rules_of_a_budget(rule: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shares_by(rule)


def test_a_limit_on_epochs_needs_a_budget_in_tokens() -> None:
    sizes = BUDGET.validate_python("20 tokens per parameter")
    assert share_budget(ExpertBudget(by="text"), sizes, TEXTS) == pytest.approx([0.6, 0.4])
    with pytest.raises(UserError, match="another number of tokens for each expert"):
        share_budget(ExpertBudget(max_epochs=4), sizes, TEXTS)
