import json
import math
from pathlib import Path

import numpy as np
import pytest

import tongues
from tests.conftest import MakeRecipe
from tests.golden import cases, golden
from tests.records import make_run
from tongues.core.errors import UserError
from tongues.laws.mixtures import capped_shares
from tongues.recipe import MixtureRule
from tongues.runs.record import DerivedMixture, read_run, write_run
from tongues.text.tokens import open_tokens
from tongues.train import RunPlan, run_of_recipe
from tongues.train.mixture import derive_shares, proxy_mixtures
from tongues.train.words import describe_mixture, mixture_rows
from tongues.train.work import open_work

AUTO = "train.mixture=auto"
# Training tokens and bytes; 4 bytes a token, premiums of 1, 1 and (of Hindi) 2.37.
TEXTS = {"qaa": (250_000.0, 1e6), "qab": (25_000.0, 1e5), "hi": (592_500.0, 2.37e6)}


def planned(make_recipe: MakeRecipe, workspace: Path, *overrides: str) -> RunPlan:
    return run_of_recipe(open_work(make_recipe(*overrides), workspace))


def test_what_a_cap_leaves_goes_to_the_others() -> None:
    equal, text = np.ones(3), np.array([1000.0, 10.0, 100.0])
    assert capped_shares(equal, text, 330.0) * 330 == pytest.approx([220, 10, 100])
    assert capped_shares(equal, text, 30.0) * 30 == pytest.approx([10, 10, 10])
    # 5 of 10 to the smallest by weight, which is all it has; the rest in proportion, 2 to 1
    assert capped_shares(np.array([2.0, 5.0, 1.0]), np.array([9.0, 2.0, 9.0]), 8.0) == (
        pytest.approx([0.5, 0.25, 0.25])
    )
    # a budget beyond all caps is in proportion to them
    caps = np.array([30.0, 10.0])
    assert capped_shares(np.ones(2), caps, 1000.0) == pytest.approx([0.75, 0.25])


def test_equal_amounts_are_of_content_and_paid_in_tokens() -> None:
    rule = MixtureRule(power=0.0, max_epochs="off")
    made = derive_shares(rule, ["qaa", "hi"], TEXTS, 10_000)
    assert made["hi"]["content"] == pytest.approx(1e6, rel=0.01)
    # The same content takes 2.37 times the tokens in Hindi.
    assert made["hi"]["share"] / made["qaa"]["share"] == pytest.approx(2.37, rel=0.01)
    assert made["hi"]["epochs"] == pytest.approx(made["qaa"]["epochs"], rel=0.01)


@pytest.mark.parametrize("power", [0.0, 0.3, 1.0])
def test_shares_follow_the_power_of_the_text(power: float) -> None:
    made = derive_shares(MixtureRule(power=power, max_epochs="off"), ["qaa", "qab"], TEXTS, 1e4)
    assert made["qaa"]["share"] / made["qab"]["share"] == pytest.approx(10**power, rel=1e-3)
    assert sum(one["share"] for one in made.values()) == pytest.approx(1, abs=1e-9)


def test_a_language_without_text_has_no_share() -> None:
    texts = {**TEXTS, "qac": (0.0, 0.0)}
    made = derive_shares(MixtureRule(max_epochs="off"), ["qaa", "qac"], texts, 1e4)
    assert {lang: one["share"] for lang, one in made.items()} == {"qaa": 1.0, "qac": 0.0}
    mixtures = proxy_mixtures(["qaa", "qab", "qac"], texts, 9)
    assert {lang for shares in mixtures for lang in shares} == {"qaa", "qab"}


def test_shares_of_proxies_add_up() -> None:
    texts = {f"qa{letter}": (1e5, 4e5) for letter in "abcdefgh"}
    mixtures = proxy_mixtures(list(texts), texts, 60)
    assert [round(sum(shares.values()), 9) for shares in mixtures] == [1.0] * 60
    assert mixtures[0] == dict.fromkeys(texts, 0.125)
    sizes = {len(shares) for shares in mixtures}
    assert min(sizes) < 6 and max(sizes) == 8  # some leave languages out


def test_no_language_is_read_more_often_than_the_limit() -> None:
    rule = MixtureRule(max_epochs=4.0)
    made = derive_shares(rule, ["qaa", "qab"], TEXTS, 500_000)
    assert made["qab"]["epochs"] == pytest.approx(4, rel=1e-3)
    assert made["qaa"]["epochs"] == pytest.approx(400_000 / 250_000, rel=1e-3)
    too_long = derive_shares(rule, ["qaa", "qab"], TEXTS, 2_000_000)
    shown: DerivedMixture = {"rule": rule.model_dump(mode="json"), "languages": too_long}
    assert "qaa and qab would be read more than 4 times" in describe_mixture(shown)[1]


def test_a_rule_is_the_run_that_names_its_shares(make_recipe: MakeRecipe, workspace: Path) -> None:
    ruled = planned(make_recipe, workspace, "train.mixture={by: text, power: 1}")
    counts = open_tokens(workspace / "tokens" / "small").counts
    tokens = {lang: splits["train"]["tokens"] for lang, splits in counts.items()}
    assert ruled.shares == pytest.approx(
        {lang: count / sum(tokens.values()) for lang, count in tokens.items()}, abs=1e-4
    )
    named = planned(make_recipe, workspace, f"train.mixture={ruled.shares}")
    assert named.identity() == ruled.identity() and named.mixture is None
    assert RunPlan.from_json(ruled.to_json()) == ruled


def test_the_limit_counts_a_budget_by_the_size(make_recipe: MakeRecipe, workspace: Path) -> None:
    rule = "train.mixture={by: text, max_epochs: 2}"
    by_size = make_recipe(rule, "train.budget=2 tokens per parameter")
    made = run_of_recipe(open_work(by_size, workspace)).mixture
    parameters = tongues.check(by_size, workspace=workspace).runs[0][1].parameters["total"]
    in_tokens = f"train.budget={2 * parameters} tokens"
    same = planned(make_recipe, workspace, rule, in_tokens).mixture
    assert made and same
    assert made["languages"]["qab"]["share"] == same["languages"]["qab"]["share"]


def test_targets_and_replay_decide_which_languages_it_has(
    make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    (alone,) = planned(make_recipe, tmp_path, AUTO, "train.targets=[qab]").shares
    assert alone == "qab"
    base = "train.base={model: elsewhere, languages: [qaa]}"
    plan = planned(make_recipe, tmp_path, AUTO, base, "train.replay={qaa: 10%}")
    assert plan.shares == pytest.approx({"qab": 0.9, "qaa": 0.1})
    with pytest.raises(UserError, match="language of the base and in the mixture"):
        planned(make_recipe, tmp_path, AUTO, base)


@pytest.mark.parametrize("overrides", cases("refused-mixtures"))
def test_wrong_rules(make_recipe: MakeRecipe, workspace: Path, overrides: str) -> None:
    proxy_runs(workspace / "runs" / "some", 5, slope=1.0)
    proxy_runs(workspace / "runs" / "some", 5, slope=1.0, tokens=4000)
    with pytest.raises(UserError) as caught:
        planned(make_recipe, workspace, *json.loads(overrides))
    golden(f"refused-mixtures/{overrides}", str(caught.value).replace(str(workspace), "FOLDER"))


def test_the_shares_are_checked_and_recorded(make_recipe: MakeRecipe, workspace: Path) -> None:
    recipe = make_recipe(AUTO, "train.budget=1k tokens", "train.num_evals=1")
    shown = tongues.check(recipe, workspace=workspace).to_json()["runs"][0]["mixture"]
    record = read_run(tongues.train(recipe, workspace=workspace, quiet=True))
    assert record.mixture == shown
    assert record.shares == {lang: one["share"] for lang, one in shown["languages"].items()}


def proxy_runs(
    folder: Path, count: int, slope: float, tokens: int = 1000, above: float = 0.0
) -> None:
    """Runs whose loss on `qab` falls with its share by `slope`, and on `qaa` not at all."""
    random = np.random.default_rng(tokens)
    for number in range(count):
        share = (number + 0.5) / count
        made = folder / f"mixture{number:03d}-{tokens}"
        made.mkdir(parents=True)
        write_run(made, make_run(run=made.name, shares={"qab": share, "qaa": 1 - share}))
        for lang, loss in (("qaa", 3.0), ("qab", 3.0 + math.exp(-slope * share))):
            noise = 0.002 * random.standard_normal()
            row = {"step": 10, "lang": lang, "tokens": tokens, "loss": above + loss + noise}
            with (made / "evals.jsonl").open("a") as file:
                file.write(json.dumps(row) + "\n")


def test_shares_by_proxies_are_those_with_the_least_loss(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    proxy_runs(workspace / "runs" / "some", 12, slope=2.0)
    proxies = "train.mixture={by: proxies, runs: some, max_epochs: off}"
    plan = planned(make_recipe, workspace, proxies)
    assert plan.shares["qab"] > 0.85
    assert plan.mixture and plan.mixture.get("gain", {}).get("low", 0) > 0
    assert "12 proxy runs of `some`: mean loss lower by" in describe_mixture(plan.mixture)[0]
    assert plan.mixture.get("by_text", {})["qab"] == pytest.approx(0.5, abs=0.01)
    best = plan.mixture.get("by_proxies", {})
    assert {lang: share for lang, share in best.items() if share} == plan.shares
    assert {*mixture_rows(plan.mixture)[0]} >= {"by text", "share"}
    assert "by proxies" not in mixture_rows(plan.mixture)[0]
    capped = "train.mixture={by: proxies, runs: some, max_epochs: 0.15}"
    limited = planned(make_recipe, workspace, capped).mixture
    assert limited and 0.12 < limited["languages"]["qab"]["epochs"] <= 0.15


def test_proxies_of_two_lengths_show_what_those_of_one_do(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    proxy_runs(workspace / "runs" / "both", 12, slope=0.5)
    proxy_runs(workspace / "runs" / "both", 12, slope=0.5, tokens=4000, above=-1.0)
    proxies = "train.mixture={by: proxies, runs: both, max_epochs: off}"
    plan = planned(make_recipe, workspace, proxies)
    assert plan.mixture and plan.mixture.get("gain", {}).get("low", 0) > 0
    assert plan.shares["qab"] > 0.85


def test_without_a_sure_gain_the_shares_are_those_by_text(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    proxy_runs(workspace / "runs" / "flat", 12, slope=0.0)
    plan = planned(make_recipe, workspace, "train.mixture={by: proxies, runs: flat}")
    assert plan.mixture and "show no sure gain" in describe_mixture(plan.mixture)[0]
    by_text = planned(make_recipe, workspace, AUTO)
    assert plan.shares == by_text.shares == plan.mixture.get("by_text")
    best = plan.mixture.get("by_proxies", {})
    assert best.keys() == plan.shares.keys() and sum(best.values()) == pytest.approx(1)
    rows = mixture_rows(plan.mixture)
    assert [row["by proxies"] for row in rows] == [f"{best[str(x)]:.2%}" for x in plan.shares]
    assert "by text" not in rows[0]
