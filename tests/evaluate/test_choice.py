from dataclasses import replace

from tests.report.evaluation.scored import MIXED, PLAIN, SCRATCH, SOURCE, changed, outcome
from tongues.evaluate.choice import Choice, chosen_models, language_roles
from tongues.roles import Roles


def test_a_model_is_chosen_where_every_text_and_task_takes_it() -> None:
    assert chosen_models(outcome((PLAIN, SCRATCH), languages=("qab",))) == [PLAIN]
    assert chosen_models(outcome((SCRATCH, PLAIN), languages=("qab",))) == [PLAIN]
    level = outcome((PLAIN, MIXED), languages=("qab",))
    for kind, name in (("texts", "study"), ("tasks", "xnli")):
        level = changed(level, [PLAIN, MIXED], kind, name, "leaders", "qab")
    assert chosen_models(level) == []  # none is better
    assert chosen_models(outcome((SOURCE, PLAIN))) == []  # each is better in one language
    assert chosen_models(outcome((PLAIN,))) == [PLAIN]
    undecided = outcome((PLAIN, SCRATCH), languages=("qab",), documents=4)
    assert not Choice.of(undecided, undecided.texts["study"]).decided
    assert chosen_models(undecided) == []


def test_a_base_language_that_is_not_tested_leaves_the_choice_decided() -> None:
    roles = {"qaa": "base", "qab": "target"}
    assert Choice(roles, ["qaa", "qab"], ["qaa"], []).decided
    assert not Choice(roles, ["qaa", "qab"], ["qab"], []).decided
    assert not Choice({"qaa": "", "qab": ""}, ["qaa", "qab"], ["qaa"], []).decided
    each = outcome((SCRATCH, MIXED), languages=("qaa", "qab"))
    each = replace(
        changed(each, "too few", "texts", "study", "compared", 0, "languages", "qaa", "reason"),
        tasks={},
    )
    choice = Choice.of(each, each.texts["study"])
    assert choice.untested == ["qaa"] and choice.models == [MIXED]


def test_nothing_is_chosen_where_the_leaders_cannot_be_tested() -> None:
    four = outcome((PLAIN, SCRATCH, MIXED, SOURCE), languages=("qab",), documents=7)
    scores = four.texts["study"]
    assert not any(of.languages["qab"].reason for of in scores.compared)  # three comparisons
    assert "qab" not in scores.leaders  # six pairs
    choice = Choice.of(four, scores)
    assert choice.untested == ["qab"] and not choice.decided and not choice.models


def test_a_language_that_an_ensemble_learned_is_its_target() -> None:
    evaluation = outcome((SOURCE, PLAIN))
    plain, added = Roles(("qab",), ("qaa",)), Roles(("qab", "qac"), ("qaa",))
    ensembles = [
        replace(model, kind="ensemble", trained=None, experts_roles=roles)
        for model, roles in zip(evaluation.models, (plain, added), strict=True)
    ]
    both = replace(evaluation, models=ensembles)
    expected = {"qaa": "base", "qab": "target", "qac": "target"}
    assert language_roles(both, ["qaa", "qab", "qac"]) == expected  # nothing to one, a target here
    alone = changed(both, None, "models", 1, "experts_roles")
    assert language_roles(alone, ["qaa", "qab", "qac"]) == expected | {"qac": "other"}
