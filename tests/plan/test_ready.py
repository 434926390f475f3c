"""Ready recipes of well-known bases, against the configurations as their makers published them."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from transformers import AutoConfig, AutoModelForCausalLM

import tongues
from tests.golden import golden
from tests.records import make_run
from tongues.cli.main import command
from tongues.errors import UserError
from tongues.languages import find_language
from tongues.languages.fertility import bytes_per_token
from tongues.plan import NoOption, ready_bases, ready_recipe
from tongues.recipe import BaseChoice, Recipe, load_recipe
from tongues.roles import Roles
from tongues.runs import write_run
from tongues.train.base import roles_of
from tongues.train.metadata import Metadata, front_matter

CONFIGS = json.loads((Path(__file__).parent / "published_configs.json").read_text())


def read(text: str, folder: Path) -> Recipe:
    file = folder / "recipe.yaml"
    file.write_text(text)
    return load_recipe(file)


@pytest.mark.parametrize("base", CONFIGS)
def test_a_base_has_the_size_of_its_published_configuration(base: str) -> None:
    settings = dict(CONFIGS[base])
    config = AutoConfig.for_model(settings.pop("model_type"), **settings)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    ready = ready_bases()[base]
    assert model.num_parameters() == ready.parameters
    assert model.get_input_embeddings().weight.shape[0] == ready.vocabulary
    assert config.max_position_embeddings == ready.context


@pytest.mark.parametrize("base", CONFIGS)
@pytest.mark.parametrize("language", ["sw", "en"])
def test_a_ready_recipe_is_sound_and_names_what_it_learns_and_replays(
    base: str, language: str, tmp_path: Path
) -> None:
    recipe = read(ready_recipe(base, language), tmp_path)
    ready = ready_bases()[base]
    assert recipe.train.base_model == recipe.tokens.base == base
    roles = roles_of(recipe.train, tmp_path)
    replayed = [lang for lang in ready.languages if lang != language][:1]
    assert roles == Roles((language,), ready.languages, dict.fromkeys(replayed, 0.25))
    assert set(recipe.text.languages) == {language, *replayed}
    left_out = {"context", "batch", "learning_rate", "schedule", "warmup", "micro_batch"}
    assert not recipe.train.model_fields_set & left_out


def test_a_base_is_found_by_the_end_of_its_name_and_others_get_the_nearest() -> None:
    assert ready_recipe("smollm2-135m", "sw") == ready_recipe("HuggingFaceTB/SmolLM2-135M", "sw")
    with pytest.raises(UserError, match="no ready recipe for `SmolLM2-135`") as caught:
        ready_recipe("SmolLM2-135", "sw")
    assert "did you mean `SmolLM2-135M`" in caught.value.hint


def test_a_ready_recipe_explains_itself() -> None:
    golden("plan/a recipe on a gated base", ready_recipe("Llama-3.2-1B", "sw"))
    golden("plan/a recipe with a budget", ready_recipe("SmolLM2-135M", "zh", "200M tokens"))


def run(*words: str, answers: str = "") -> str:
    done = CliRunner().invoke(command, ["new", *words], input=answers, catch_exceptions=True)
    return done.output or str(done.exception)


def test_the_verb_lists_bases_and_writes_a_recipe_once(tmp_path: Path) -> None:
    assert CONFIGS.keys() <= {row["base"] for row in json.loads(run("--json"))["bases"]}
    assert "134,515,008" in run("SmolLM2-135M", "--language", "sw")
    file = tmp_path / "sw.yaml"
    assert f"→ tongues check {file}" in run("SmolLM2-135M", "--language", "sw", "-o", str(file))
    assert file.read_text() == tongues.new("SmolLM2-135M", "Swahili").recipe
    with pytest.raises(UserError, match="is there already"):
        tongues.new("SmolLM2-135M", "sw", file)
    assert read(tongues.new("Qwen3-0.6B-Base", "sw", budget="2B tokens").recipe, tmp_path)


def test_a_second_recipe_of_a_base_and_language_has_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs/smollm2-135m-sw-2").mkdir(parents=True)
    files = [Path("first.yaml"), Path("second.yaml"), Path("third.yaml")]
    for file in files:
        tongues.new("SmolLM2-135M", "sw", file)
    names = [load_recipe(file).name for file in files]
    assert names == ["smollm2-135m-sw", "smollm2-135m-sw-3", "smollm2-135m-sw-4"]


@pytest.mark.parametrize(("size", "held"), [(9e3, "1k"), (424_000, "11k"), (9e9, "100k")])
def test_a_tenth_of_the_text_is_held_out_and_100k_tokens_at_most(size: float, held: str) -> None:
    recipe = ready_recipe("SmolLM2-135M", "sw", files={"sw": ["a"]}, sizes={"sw": int(size)})
    assert f"held_out: {held} tokens" in recipe


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run that learned German and Turkish, in which the test works."""
    run = tmp_path / "runs/study/own"
    config = {"model_type": "llama", "vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 1}
    config |= {"num_attention_heads": 2, "intermediate_size": 16}
    (run / "model").mkdir(parents=True)
    (run / "model/config.json").write_text(json.dumps(config))
    write_run(run, make_run(run="study/own", shares={"de": 0.5, "tr": 0.5}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("base", ["study/own", "runs/study/own", "runs/study/own/model"])
def test_a_run_is_a_base_by_any_name_and_its_record_has_its_languages(
    base: str, trained: Path
) -> None:
    for named in (base, str(trained / base)) if base.startswith("runs") else (base,):
        text = ready_recipe(named, "sw", files={"sw": ["a"], "tr": ["b"]})
        recipe = read(text, trained)
        assert recipe.name == "own-sw" and "assumed" not in text
        assert recipe.train.base_model == "study/own" and recipe.train.replay == {"tr": 0.25}
        assert recipe.tokens.base and Path(recipe.tokens.base).samefile("runs/study/own/model")
        assert roles_of(recipe.train, trained).base_languages == ("de", "tr")


def test_a_base_that_is_no_run_yet_says_so(trained: Path) -> None:
    with pytest.raises(UserError, match="no ready recipe") as caught:
        ready_recipe("study/owm", "sw")
    assert "did you mean `study/own`" in caught.value.hint
    (trained / "models/smollm2").mkdir(parents=True)
    (trained / "models/smollm2/config.json").write_text("{}")
    with pytest.raises(UserError, match="no ready recipe") as caught:
        ready_recipe("models/smolm2", "sw")
    assert "did you mean `models/smollm2`" in caught.value.hint
    write_run(trained / "runs/study/own", make_run(status="running"))
    with pytest.raises(UserError, match="not finished"):
        ready_recipe("study/own", "sw")
    with pytest.raises(UserError, match=r"no config\.json") as caught:
        ready_recipe("runs/study", "sw")
    assert "of a run, `model`" in caught.value.hint


def test_the_languages_of_a_folder_are_those_of_its_card(trained: Path) -> None:
    folder = trained / "runs/study/own/model"
    folder.rename(trained / "exported")
    assert "assumed" in ready_recipe("exported", "sw")
    (trained / "exported/README.md").write_text(front_matter(Metadata(["no", "qaa"])))
    recipe = ready_recipe("exported", "sw")
    assert "languages: [no, qaa]}\n" in recipe
    assert read(recipe, trained).train.base == BaseChoice(model="exported", languages=["no", "qaa"])


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Swahili in a folder of its own and English in a file, as the catalogue of tests has them."""
    folder = tmp_path / "texts"
    (folder / "sw").mkdir(parents=True)
    line = (
        "Watu wote wamezaliwa huru, hadhi na haki zao ni sawa. Wote wamejaliwa akili na dhamiri. "
    )
    (folder / "sw/a.txt").write_text(line * 200)
    english = "All human beings are born free and equal in dignity and rights. They have reason. "
    (folder / "en.jsonl").write_text((json.dumps({"text": english * 9}) + "\n") * 20)
    return folder


def test_a_folder_of_text_gives_a_recipe_whose_text_is_there(texts: Path, tmp_path: Path) -> None:
    draft = tongues.new("SmolLM2-135M", "sw", text=texts, budget="40k tokens")
    recipe = read(draft.recipe, tmp_path)
    assert recipe.text.files["sw"].paths == [str(texts / "sw")]
    assert recipe.text.files["en"].paths == [str(texts / "en.jsonl")]
    assert recipe.train.replay == {"en": 0.25} and recipe.tokens.held_out == 1000
    assert recipe.train.eval_tokens == 4096
    longer = read(ready_recipe("SmolLM2-135M", "sw", "2M tokens"), tmp_path).train
    scored = 2 * 5 * longer.eval_tokens  # two languages, at the start and four times
    assert 0.1 < scored / (scored + 2e6) < 0.2  # beyond a fifth `check` tells of it
    size = (texts / "sw/a.txt").stat().st_size
    there = size / bytes_per_token(find_language("sw"), "").value
    assert f"about {there / 1000:.3g}k tokens, read about {3e4 / there:.3g} times" in draft.lines[1]
    assert ": `17600 B` is too little text: no law knows" in draft.lines[2]
    assert draft.forecast is None
    (texts / "en.jsonl").unlink()
    alone = tongues.new("SmolLM2-135M", "sw", text=texts, budget="40k tokens").recipe
    assert not read(alone, tmp_path).train.replay
    assert "no replay: there is no text of a language of the base" in alone


def test_a_language_of_the_base_is_not_replayed_and_is_to_be_measured_first(
    texts: Path, tmp_path: Path
) -> None:
    draft = tongues.new("SmolLM2-135M", "en", text=texts, budget="400k tokens")
    assert "there is no text of another language of the base" in draft.recipe
    assert draft.lines[-2].startswith("SmolLM2-135M knows `en` already")
    assert draft.forecast is None  # a law would not know what the base learned
    plan = tongues.plan(language="en", bases=["SmolLM2-135M"], flops=1e19)
    said = "\n".join(plan.sentences())
    assert "measure the base first" in said
    assert "source: en, target: en" not in said and "replay" not in said
    assert {option.way.replay for option in plan.options} == {0.0}
    assert "no_replay" not in {caution.code for caution in plan.warnings}


def test_a_plan_of_a_recipe_without_replay_has_none(tmp_path: Path) -> None:
    folder = turkish(tmp_path / "texts", "tr.jsonl")
    (folder / "tr.jsonl").write_text((folder / "tr.jsonl").read_text() * 20)
    draft = tongues.new("SmolLM2-135M", "tr", text=folder)
    times = re.search(r"read about ([\d.]+) times", draft.lines[1])
    assert draft.plan and times
    continued = next(option for option in draft.plan.options if option.base)
    assert continued.way.replay == 0
    assert continued.epochs == pytest.approx(float(times[1]), rel=0.01)


def turkish(folder: Path, name: str) -> Path:
    """Half a megabyte of Turkish in a folder, in a file whose ending says how it is packed."""
    folder.mkdir()
    line = "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl sahibidirler. "
    with (gzip.open if name.endswith(".gz") else open)(folder / name, "wt") as file:
        for number in range(600):
            file.write(json.dumps({"text": f"{number} {line * 10}"}) + "\n")
    return folder


def test_text_is_counted_once_as_preparing_reads_it(tmp_path: Path) -> None:
    folders = turkish(tmp_path / "plain", "tr.jsonl"), turkish(tmp_path / "packed", "tr.jsonl.gz")
    for folder in folders:
        draft = tongues.new("Qwen3-0.6B-Base", "tr", text=folder, budget="100M tokens")
        size = sum(len(json.loads(line)["text"].encode()) for line in opened(folder))
        said = re.search(r"Text: (\d+) kB of `tr`, about (\S+) tokens", draft.lines[1])
        assert said and said[1] == f"{size / 1000:.0f}"
        assert f"5 epochs of {said[2]} tokens of text" in " ".join(draft.lines)


def opened(folder: Path) -> list[str]:
    file = next(folder.glob("*"))
    with (gzip.open if file.suffix == ".gz" else open)(file, "rt") as lines:
        return list(lines)


def test_a_small_text_is_read_five_times_and_more_is_cautioned_against(tmp_path: Path) -> None:
    texts = turkish(tmp_path / "texts", "tr.jsonl")
    usual = tongues.new("SmolLM2-135M", "tr", text=texts)
    times = re.search(r"read about ([\d.]+) times", usual.lines[1])
    assert times and 4.5 < float(times[1]) <= 5 and "Caution" not in " ".join(usual.lines)
    often = tongues.new("SmolLM2-135M", "tr", text=texts, budget="100M tokens")
    said = "\n".join([*usual.lines, "", *often.lines]).replace(str(texts), "TEXTS")
    golden("plan/a text that is read often", said)
    budget = re.search(r"budget: (\S+ tokens)", usual.recipe)
    assert budget and often.lines[2].endswith(f"a budget of {budget[1]}.")
    assert "budget: 100M tokens" in tongues.new("SmolLM2-135M", "tr").recipe


def test_a_missing_forecast_has_the_reason_of_the_base() -> None:
    with pytest.raises(NoOption) as caught:
        tongues.plan(
            language="sw", bases=["SmolLM2-135M=134515008"], params=134_515_008, tokens=4e4
        )
    reasons = {one.strategy: one.reason for one in caught.value.left_out}
    begins = ["here it gives 6.60" in reasons[strategy] for strategy in ("scratch", "cpt")]
    assert begins == [False, True]
    draft = tongues.new("SmolLM2-135M", "sw", budget="40k tokens")
    assert (
        draft.forecast is None
        and "more than random guessing among 100,000 tokens of 4.84 bytes" in (draft.lines[1])
    )


def test_steps_are_counted_and_few_are_cautioned_against() -> None:
    for budget, steps in (("10k tokens", 5), ("1M tokens", 489)):
        draft = tongues.new("SmolLM2-135M", "sw", budget=budget)
        assert f", in {steps} steps; " in draft.lines[0] and "FLOPs by 6ND" in draft.lines[0]
        few = draft.lines[1].startswith("Caution: fewer than 10 steps teach little")
        assert few == (steps < 10)


def test_a_row_that_is_held_at_a_size_is_not_what_costs_less() -> None:
    plan = tongues.plan(language="sw", bases=["SmolLM2-135M"], params="135M", tokens="100M")
    (caution,) = (one for one in plan.warnings if one.code == "negative_saving")
    assert "from scratch at the best size" in caution.sentence
    assert caution.sentence.endswith("; the row `scratch` is held at 135M parameters")
    free = tongues.plan(language="sw", bases=["SmolLM2-135M"], flops="8e16")
    assert "held at" not in " ".join(one.sentence for one in free.warnings)


OTHER_BUDGETS = ("7 days", "24 hours", "1e21 FLOPs", "20 tokens per parameter")


def test_what_cannot_be_is_refused_with_its_option(texts: Path) -> None:
    (texts / "fr").mkdir()
    (texts / "fr/a.txt").write_text((texts / "sw/a.txt").read_text())
    wrong: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("(a.txt) was identified as such, most as `sw`", "--text", {"language": "fr"}),
        ("is not a folder", "--text", {"text": texts / "gone"}),
        ("counted in tokens", "--budget", {"budget": "100"}),
        *((f"`{x}` is not in tokens", "--budget", {"budget": x}) for x in OTHER_BUDGETS),
        ("no language `swahilix`", "--language", {"language": "swahilix"}),
        ("names one language", "--language", {"language": "sw,tr"}),
    )
    for what, where, keywords in wrong:
        with pytest.raises(UserError, match=re.escape(what)) as caught:
            tongues.new("SmolLM2-135M", **{"language": "sw", "text": texts} | keywords)
        assert caught.value.where.startswith(where)


def test_a_plan_is_written_next_to_its_recipe(tmp_path: Path) -> None:
    file = tmp_path / "sw.yaml"
    draft = tongues.new("Qwen3-0.6B-Base", "sw", file)
    plan = json.loads((tmp_path / "sw.plan.json").read_text())
    assert draft.forecast and plan["bits_per_byte"]["value"] == draft.forecast.value
    assert plan["bits_per_byte"]["low"] < draft.forecast.value < plan["bits_per_byte"]["high"]
    assert all(f"- {line}\n" in (tmp_path / "sw.plan.md").read_text() for line in draft.lines)


def test_on_a_terminal_it_asks_until_the_answers_are_right(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tongues.cli.new.on_terminal", lambda: True)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.yaml").touch()
    (tmp_path / "fr").mkdir()
    (tmp_path / "fr/sw.txt").write_text("Tous les êtres humains naissent libres et égaux. " * 99)
    answers = ["SmolLM2-1", "smollm2-135m", "sw", "nowhere", "fr", "texts"]
    answers += ["there.yaml", "my.yaml", ""]
    shown = run(answers="\n".join(answers))
    assert "was identified as such, most as `fr`" in shown
    assert "there.yaml: is there already; name another file" in shown
    assert "no ready recipe for `SmolLM2-1`; did you mean" in shown
    assert "`nowhere` is not a folder" in shown
    assert shown.splitlines()[-1] == "→ tongues check my.yaml"
    assert load_recipe(tmp_path / "my.yaml").text.files["sw"].paths == ["texts/sw"]
