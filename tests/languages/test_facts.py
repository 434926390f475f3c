import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tongues
from tests.command import run_command
from tests.golden import inputs
from tongues.core.errors import UserError
from tongues.languages import Language, find_language
from tongues.languages.facts import language_facts


def test_a_language_is_shown_with_what_is_not_known(tmp_path: Path) -> None:
    shown = run_command(["languages", "Ankave"], tmp_path)
    assert shown.returncode == 0
    assert "Angan › Nuclear Angan" in shown.stdout
    assert "7.41 MB" in shown.stdout
    assert "speakers: CLDR does not count them" in shown.stdout
    known = run_command(["languages", "sw"], tmp_path).stdout
    assert "Kiswahili" in known
    assert "speakers: CLDR" not in known


def test_a_byte_premium_that_nothing_can_forecast_is_not_known() -> None:
    for name in ("bjn-Arab", "nqo"):  # forecast; none of its script was measured
        assert "byte premium: not measured" in language_facts(find_language(name)).unknown


def test_json_has_every_fact(tmp_path: Path) -> None:
    plain = json.loads(run_command(["languages", "uk", "--json"], tmp_path).stdout)
    assert plain["code"] == "ukr"
    assert plain["bytes_per_token"]["own"]["value"] == 8.13
    first = plain["donors"][0]
    assert (first["language"], first["measured"], first["score"]["value"]) == ("ru", True, 0.3)
    assert plain["texts"][0]["source"] == "HPLT 3.0"  # the largest
    licences = {x["field"]: x["licence"] for x in plain["sources"]}
    assert licences["speakers"] == "Unicode-3.0"
    assert {"family", "byte_premium", "identified_by"} <= licences.keys()


def fitting(**conditions: str) -> tuple[Language, ...]:
    """The languages that fit."""
    found = tongues.languages(**conditions)
    assert isinstance(found, tuple)
    return found


def test_a_list_is_filtered(tmp_path: Path) -> None:
    bantu = fitting(family="bantu", min_text="100MB")
    assert "sw" in [of.tag for of in bantu]
    assert all("Narrow Bantu" in of.family and of.text_bytes >= 1e8 for of in bantu)
    assert [of.text_bytes for of in bantu] == sorted((of.text_bytes for of in bantu), reverse=True)
    assert {of.script for of in fitting(script="Arab")} == {"Arab"}
    assert all("xcopa" in of.tasks for of in fitting(task="xcopa", script="latn"))
    listed = run_command(["languages", "--family", "bantu"], tmp_path)
    assert len(listed.stdout.splitlines()) == 21
    assert "`--json` has all" in listed.stderr
    every = json.loads(run_command(["languages", "--task", "xcopa", "--json"], tmp_path).stdout)
    assert {of["tag"] for of in every["languages"]} >= {"et", "ht", "sw", "zh"}


@pytest.mark.parametrize(("words", "said"), inputs("rows")["test_wrong_words_are_named"])
def test_wrong_words_are_named(words: list[str], said: str, tmp_path: Path) -> None:
    refused = run_command(["languages", *words], tmp_path)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr


def test_conditions_without_languages_are_refused() -> None:
    with pytest.raises(UserError, match="no language has `Xxxx`"):
        tongues.languages(script="Xxxx")


def test_the_command_answers_at_once(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv[1:] = ['languages', 'sw']; from tongues.verbs import main; main(); "
        "slow = {'torch', 'transformers', 'altair', 'pyarrow', 'pandas', 'scipy', 'langcodes', "
        "'pydantic', 'tongues.laws'}; "
        "sys.exit(str(slow & set(sys.modules)) if slow & set(sys.modules) else 0)"
    )
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=False, capture_output=True
    )
    after = os.times()
    assert done.returncode == 0, done.stderr
    used = after.children_user + after.children_system
    # 0.35 s of a processor that does nothing else; machines that test share theirs
    assert used - before.children_user - before.children_system < 1.2
