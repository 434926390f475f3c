import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from tests.golden import INPUTS, cases, golden, inputs
from tongues.core.errors import UserError, nearest
from tongues.core.hardware import GPUS
from tongues.core.quantities import (
    Budget,
    Bytes,
    Seconds,
    Share,
    Tokens,
    show_bytes,
    show_count,
    show_seconds,
)
from tongues.models import find_shape
from tongues.recipe import Recipe, Train, load_recipe, show_recipe, training_command
from tongues.recipe.base import RecipeSection

GOOD = (INPUTS / "two-sources-recipe.yaml").read_text()


class Amounts(BaseModel):
    tokens: Tokens = 1
    size: Bytes = 1
    time: Seconds = 1.0
    share: Share = 0.0
    budget: Budget | None = None


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_text(GOOD)
    return path


def test_overrides_change_one_value(good: Path) -> None:
    recipe = load_recipe(good, ["train.seed=7", "train.mixture={qaa: 100%}"])
    assert recipe.train.seed == 7
    with pytest.raises(UserError, match=r"override train\.budget"):
        load_recipe(good, {"train.budget": "1e18"})
    assert recipe.text.files["no"].paths == ["norsk.txt"]  # a language, and not false
    assert recipe.train.mixture == {"qaa": 1.0}


def test_a_partition_is_named_after_its_method_and_its_batch(good: Path) -> None:
    methods = "[{by: languages}, {by: dense, batch: 2x}, {by: typology, k: 4, batch: 16x}]"
    experts = load_recipe(good, ["train.base=seed", f"experts={{partitions: {methods}}}"]).experts
    assert experts
    labels = [partition.label for partition in experts.partitions]
    assert labels == ["languages", "dense-2x", "typology-4-16x"]


@pytest.mark.parametrize("overrides", cases("refused-overrides"))
def test_a_mistake_is_told_with_its_place_and_reason(good: Path, overrides: str) -> None:
    with pytest.raises(UserError) as caught:
        load_recipe(good, overrides.split(" and "))
    golden(f"refused-overrides/{overrides}", str(caught.value).replace(str(good.parent), ""))


def test_a_mistake_in_the_file_is_told_with_its_line(good: Path) -> None:
    good.write_text(GOOD.replace("budget:", "bugdet:"))
    for overrides in ((), ["train.seed=2"], ["train.budget=1M tokens"]):
        with pytest.raises(UserError) as caught:
            load_recipe(good, overrides)
        assert caught.value.where == f"{good}:14: train.bugdet"


@pytest.mark.parametrize("text", ["", "- a\n- b", "a: [", "a: 1\na: 2", "\x00"])
def test_what_is_no_recipe_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    with pytest.raises(UserError):
        load_recipe(path)


@pytest.mark.parametrize("text", cases("refused-yaml"))
def test_what_cannot_be_read_is_told_with_what_to_do(tmp_path: Path, text: str) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(json.loads(text))
    with pytest.raises(UserError) as caught:
        load_recipe(path)
    golden(f"refused-yaml/{text}", str(caught.value).replace(str(tmp_path), "FOLDER"))


def test_yaml_that_grows_without_end_is_refused_at_once(tmp_path: Path) -> None:
    bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
    for level in range(1, 12):
        again = ", ".join([f"*a{level - 1}"] * 9)
        bomb += f"a{level}: &a{level} [{again}]\n"
    path = tmp_path / "bomb.yaml"
    for text, reason in (
        (bomb, "more than 20,000 values with its aliases"),
        ("train: " + "[" * 2000, "nested more than 50 deep"),
        ("train: " + "[" * 60 + "]" * 60, "nested more than 50 deep"),
        ("name: " + "x" * 300_000, "too long for a recipe"),
    ):
        path.write_text(text)
        with pytest.raises(UserError, match=reason):
            load_recipe(path)
    assert not training_command("none", tmp_path)


def test_a_study_of_budgets_says_why_it_needs_a_usual_one(good: Path) -> None:
    study = "study: {source: qaa, targets: [qab], shapes: [0.2M], budgets: [1M tokens]}\n"
    good.write_text(GOOD.replace("  budget: 20 tokens per parameter\n", "") + study)
    with pytest.raises(UserError, match="`budget` is missing, the usual one") as caught:
        load_recipe(good)
    assert caught.value.where == f"{good}:12: train.budget"
    assert "one of `study.budgets`" in caught.value.hint


def test_a_missing_recipe_names_its_neighbour(good: Path) -> None:
    with pytest.raises(UserError, match="is a folder, not a recipe") as caught:
        load_recipe(good.parent)
    assert str(good) in caught.value.hint
    with pytest.raises(UserError, match="no such recipe") as caught:
        load_recipe(good.with_name("recipes.yaml"))
    assert "`recipe.yaml`" in caught.value.hint
    good.unlink()
    with pytest.raises(UserError, match="no such recipe") as caught:
        load_recipe(good)
    assert caught.value.hint == "`tongues new` writes a recipe"


@given(st.text(max_size=40))
def test_any_text_as_an_amount_is_read_or_refused_in_words(text: str) -> None:
    for field in Amounts.model_fields:
        try:
            Amounts.model_validate({field: text})
        except ValidationError as error:
            assert error.errors()[0]["type"] == "value_error"


@given(st.integers(1, 10**15))
def test_amounts_survive_being_written_and_read(number: int) -> None:
    amounts = Amounts.model_validate(
        {"tokens": f"{number} tokens", "size": f"{number} B", "budget": f"{number} tokens"}
    )
    assert amounts.tokens == amounts.size == number
    assert Amounts.model_validate(amounts.model_dump(mode="json", exclude={"share", "time"}))
    assert Amounts.model_validate(amounts.model_dump(mode="json")) == amounts


def test_scales_and_units_multiply() -> None:
    amounts = Amounts.model_validate(
        {"tokens": "1.5M tokens", "size": "2 MiB", "time": "2 minutes", "share": "5%"}
    )
    assert (amounts.tokens, amounts.size) == (1_500_000, 2 * 2**20)
    assert (amounts.time, amounts.share) == (120.0, 0.05)


def test_shown_amounts_are_short() -> None:
    assert [show_count(n) for n in (12, 1234, 5.6e6, 7e15)] == ["12", "1.23k", "5.6M", "7.00e+15"]
    assert [show_bytes(n) for n in (12, 1234, 5.6e6)] == ["12 B", "1.23 kB", "5.6 MB"]
    borders = (999_864_320, 999_400_000, 999_999, 999.9, 999.6e12)
    assert [show_count(n) for n in borders] == ["1B", "999M", "1M", "1k", "1.00e+15"]
    assert [show_bytes(n) for n in (999_999_999, 999.7, 99.6)] == ["1 GB", "1 kB", "100 B"]


def test_nearest_names_one_word_or_all() -> None:
    assert nearest("Budgte", ["budget", "batch"]) == "did you mean `budget`?"
    assert nearest("Turkce", ["Turkmen", "Türkçe"]) == "did you mean `Türkçe`?"
    assert nearest("zzz", ["b", "a"]) == "choose from `a`, `b`"
    many = [f"{letter}{letter}-run" for letter in "abcdefghijklmnop"]
    assert nearest("ppp", many).startswith("choose from `pp-run`, `aa-run`, `bb-run`")
    assert nearest("ppp", many).endswith(" and 4 more")
    assert nearest("x", []) == "there is none to choose from"


@pytest.mark.parametrize(
    ("word", "choices", "meant"),
    [
        ("A100-80GB", GPUS, "a100"),
        ("rate", Train.model_fields, "learning_rate"),
        ("lr", Train.model_fields, "learning_rate"),
        ("steps", Train.model_fields, "budget"),
        ("num_train_epochs", Train.model_fields, "budget"),
        ("gradient_accumulation_steps", Train.model_fields, "micro_batch"),
        ("seq-len", Train.model_fields, "context"),
        ("--jobs", ["--ranks", "--tasks", "--workspace"], "--ranks"),
        ("evaluate_on", ["num_evals", "evaluate"], "evaluate"),
        ("hoffmann2022-ful", ["hoffmann2022", "hoffmann2022-full"], "hoffmann2022-full"),
    ],
)
def test_nearest_knows_synonyms_and_beginnings(
    word: str, choices: Iterable[str], meant: str
) -> None:
    assert nearest(word, choices) == f"did you mean `{meant}`?"


def test_a_shape_by_its_size_is_the_nearest_one() -> None:
    with pytest.raises(UserError) as caught:
        find_shape("1B")
    assert caught.value.hint == "the nearest in size is `992M`"


def test_a_small_share_of_the_peak_and_none_at_all_are_meant(good: Path) -> None:
    for share in (0.0, 0.005):
        recipe = load_recipe(good, [f"train.min_learning_rate={share}"])
        assert recipe.train.min_learning_rate == share


def test_every_key_is_described_in_the_reference() -> None:
    below = {x for x in RecipeSection.__subclasses__() if x.__module__.startswith("tongues.recipe")}
    for section in {Recipe, *below}:
        for key, field in section.model_fields.items():
            assert field.description, f"{section.__name__}.{key}"


def test_thresholds_and_amounts_are_written_as_they_are_read(good: Path) -> None:
    overrides = (
        "text.clean={digits: off, symbols: 0.3, characters: 40, near: 80%}",
        "text.files={no: {paths: [a, b], documents: paragraphs, limit: 2 GB}}",
        "text.hub={sv: {dataset: a/b, limit: 2B tokens}}",
    )
    recipe = load_recipe(good, overrides)
    again = good.with_name("again.yaml")
    again.write_text(show_recipe(recipe))
    assert load_recipe(again) == recipe
    clean = recipe.text.clean.levels
    chosen = [clean[key] for key in ("digits", "symbols", "characters", "near")]
    assert chosen == ["off", 0.3, 40.0, 0.8]
    assert str(recipe.text.hub["sv"].limit) == "2000000000 tokens"


def budget(text: str) -> Budget:
    return TypeAdapter(Budget).validate_python(text)


@pytest.mark.parametrize(("text", "tokens"), inputs("rows")["test_a_budget_is_so_many_tokens"])
def test_a_budget_is_so_many_tokens(text: str, tokens: int) -> None:
    assert budget(text).seconds is None
    assert budget(text).tokens(1000, 4000.0) == tokens


@pytest.mark.parametrize(
    ("text", "seconds"), [("2 hours", 7200), ("90 minutes", 5400), ("1.5 days", 129_600)]
)
def test_a_time_is_tokens_once_the_speed_is_known(text: str, seconds: float) -> None:
    assert budget(text).seconds == seconds
    assert budget(text).tokens(1000, 4000.0, tokens_per_second=10.0) == 10 * seconds
    with pytest.raises(ValueError, match="only once the speed is measured"):
        budget(text).tokens(1000, 4000.0)


UNITS = ("tokens per parameter", "FLOPs", "seconds", "hours")


@given(st.floats(1e-3, 1e25), st.sampled_from(UNITS))
def test_a_budget_reads_back_as_it_was_shown(number: float, unit: str) -> None:
    first = budget(f"{number:.6g} {unit}")
    assert budget(str(first)) == first


@pytest.mark.parametrize(
    "text",
    ["2 PFLOP/s", "1e15", "3 kFLOPs", "2 hours of GPU", "0 hours", "-1 FLOPs", "1e308 ZFLOPs"],
)
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        budget(text)


def test_a_budget_without_a_unit_is_answered_with_its_tokens() -> None:
    with pytest.raises(ValidationError, match=r"such as `3\.1M tokens`"):
        budget("3.1M")


def test_a_stretch_of_time_is_shown_in_a_fitting_unit() -> None:
    shown = [show_seconds(number) for number in (0.4, 45, 99.4, 180, 5900, 9000, 345_600)]
    assert shown == ["0 s", "45 s", "99 s", "3 min", "98 min", "2.5 h", "4 days"]
