import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tongues.errors import Caution, UserError
from tongues.laws import Law, preset
from tongues.plan.laws import Known, gather_laws, read_laws

FORGETTING = Law(
    "forgetting", {"F": 2e9, "A": 0.3, "kappa": 0.2, "W": 0.05, "B": 1e11, "beta": 0.095}
)


def write(path: Path, thing: object) -> str:
    path.write_text(json.dumps(thing))
    return str(path)


def test_published_laws_are_known_by_what_they_are_good_for() -> None:
    names = ("zheng2024-scratch", "zheng2024-cpt", "muennighoff2023")
    names += ("zheng2024-scratch-compute", "zheng2024-cpt-compute")
    laws = read_laws(names)
    roles = {one.name: one.role for one in laws.known}
    assert roles == {
        "zheng2024-scratch": "scratch",
        "zheng2024-cpt": "cpt",
        "muennighoff2023": "repetition",
        "zheng2024-scratch-compute": "scratch by compute",
        "zheng2024-cpt-compute": "cpt by compute",
    }
    assert "contradicts_savings" in {caution.code for caution in laws.cautions}


def test_a_file_of_several_languages_needs_one_of_them(tmp_path: Path) -> None:
    scratch, cpt = preset("zheng2024-scratch").to_json(), preset("zheng2024-cpt").to_json()
    laws = [law | {"target": target} for target in ("no", "sv") for law in (scratch, cpt)]
    path = write(tmp_path / "law.json", {"laws": laws})
    assert {one.role for one in read_laws([path], "sv").known} == {"scratch", "cpt"}
    with pytest.raises(UserError, match="choose one by `--target`: no, sv"):
        read_laws([path])
    with pytest.raises(UserError, match="no law of `da`"):
        read_laws([path], "da")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not a JSON file"),
        ("[1, 2]", "holds no law"),
        ('{"laws": 3}', "holds no law"),
        ('{"laws": [3]}', "holds no law"),
        ('{"law": "chinchilla"}', "holds no law"),
        ('{"law": "chinchila", "params": {}}', "did you mean"),
        ('{"law": "chinchilla", "params": 7}', "not whole"),
    ],
)
def test_a_broken_file_is_refused_in_words(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "law.json"
    path.write_text(content)
    with pytest.raises(UserError) as refusal:
        read_laws([str(path)])
    assert said in str(refusal.value)
    assert "law.json" in str(refusal.value)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        *((key, ..., "") for key in ("params", "interval", "range")),
        ("interval", {"E": [2.0, 1.0]}, "goes from 2 to 1"),
        ("range", {"E": [-1.0, 1.0]}, "goes from -1 to 1"),
    ],
)
def test_a_law_without_a_part_or_with_wrong_ends_is_refused(
    tmp_path: Path, key: str, value: Any, said: str
) -> None:
    data = preset("zheng2024-cpt").to_json() | {key: value}
    data = {key: value for key, value in data.items() if value is not ...}
    with pytest.raises(UserError, match=said):
        read_laws([write(tmp_path / "law.json", data)])


def test_a_misspelt_law_or_file_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean `hoffmann2022`"):
        read_laws(["hofmann2022"])
    missing = str(tmp_path / "laws.json")
    write(tmp_path / "lawz.json", {})  # a file of something else
    write(tmp_path / "new.plan.json", {"lines": []})
    with pytest.raises(UserError) as caught:
        read_laws([missing])
    assert caught.value.hint == f"`tongues fit RUNS -o {missing}` writes one"
    write(tmp_path / "law.json", preset("zheng2024-cpt").to_json())
    with pytest.raises(UserError, match=r"did you mean `law\.json`"):
        read_laws([missing])


def test_a_table_or_a_folder_in_place_of_a_law_is_to_be_fitted_first(tmp_path: Path) -> None:
    (tmp_path / "ok.csv").write_text("params,tokens,loss\n1e6,2e7,3\n")
    for place in (tmp_path / "ok.csv", tmp_path):
        with pytest.raises(UserError, match="file of a law") as caught:
            read_laws([str(place)])
        assert caught.value.hint == f"`tongues fit {place} -o law.json` first"


def test_several_laws_of_one_strategy_and_one_of_forgetting() -> None:
    laws = read_laws(["hoffmann2022", "besiroglu2024"])
    assert [one.name for one in laws.all("scratch")] == ["hoffmann2022", "besiroglu2024"]
    both = [Known(name, FORGETTING, "") for name in "ab"]
    with pytest.raises(UserError, match="two_laws"):
        gather_laws([*laws.known, *both])


def test_a_law_that_is_not_pinned_down_gives_way_to_one_that_is() -> None:
    loose = Known(
        "loose", replace(preset("hoffmann2022"), warnings=(Caution("at_bound", ""),)), "scratch"
    )
    known = Known("known", preset("besiroglu2024"), "scratch")
    assert gather_laws([loose, known]).all("scratch") == (known,)
    assert gather_laws([loose]).all("scratch") == (loose,)


def test_forgetting_alone_plans_nothing() -> None:
    with pytest.raises(UserError, match="predicts what a model learns"):
        gather_laws([Known("forget", FORGETTING, "")])


def test_the_file_says_which_strategy_an_extended_law_is_of(tmp_path: Path) -> None:
    law = Law("extended", preset("zheng2024-cpt").params)
    for strategy in ("scratch", "cpt"):
        path = write(tmp_path / "law.json", law.to_json() | {"strategy": strategy})
        assert read_laws([path]).known[0].role == strategy
    path = write(tmp_path / "law.json", law.to_json() | {"strategy": "ctp"})
    with pytest.raises(UserError, match="did you mean `cpt`"):
        read_laws([path])
