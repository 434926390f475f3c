"""Laws of `--law`: their roles, best sizes against the closed form, and what is refused."""

import math
from pathlib import Path

import numpy as np
import pytest

import tongues
from tests.golden import golden
from tongues.core.errors import UserError
from tongues.core.files import write_json
from tongues.laws import Law, allocate, preset
from tongues.plan import read_laws

CHINCHILLA = {"E": 1.69, "A": 406.4, "B": 410.7, "alpha": 0.34, "beta": 0.28}


def written(folder: Path, *targets: str) -> Path:
    laws = [Law("chinchilla", CHINCHILLA, strategy="scratch", target=lang) for lang in targets]
    write_json(folder / "laws.json", {"laws": [law.to_json() for law in laws]})
    return folder / "laws.json"


def test_laws_have_roles() -> None:
    laws = read_laws(["besiroglu2024", "zheng2024-cpt"])
    assert {role: laws.names[role] for role in laws.laws} == {
        "scratch": "besiroglu2024",
        "cpt": "zheng2024-cpt",
    }
    repeats = read_laws(["muennighoff2023"])
    assert repeats.find("scratch") is repeats.find("repetition") is not None
    assert not read_laws([])


@pytest.mark.parametrize("name", ["hoffmann2022", "besiroglu2024"])
def test_the_best_size_is_that_of_the_closed_form(name: str) -> None:
    laws, best = read_laws([name]), allocate(preset(name))
    assert best is not None
    for flops in (1e19, 1e21, 1e23):
        found = laws.best_size(flops, math.inf, math.inf)
        assert found == pytest.approx(best.N_coef * flops**best.a, rel=0.05)


def test_where_text_ends_a_model_of_that_text_is_best() -> None:
    laws = read_laws(["muennighoff2023"])
    short = laws.best_size(1e22, 1e9, 16e9)
    sizes, law = np.geomspace(1e8, 1e12, 2001), preset("muennighoff2023")
    tokens = np.minimum(1e22 / 6 / sizes, 16e9)
    best = sizes[np.argmin(law.loss(sizes, tokens, U=np.full(2001, 1e9)))]
    assert short == pytest.approx(best, rel=0.05)


def test_draws_are_of_what_the_form_takes() -> None:
    laws = read_laws(["besiroglu2024"])
    draws = laws.draws("scratch", N=1e9, D=2e10, S=1.0, k=1.0, U=1e20)
    assert draws.shape == (len(draws),)
    expected = preset("besiroglu2024").loss(1e9, 2e10)
    assert np.median(draws) == pytest.approx(float(expected), rel=0.02)


def test_how_far_outside_of_its_runs_a_law_is_asked() -> None:
    laws = read_laws(["besiroglu2024"])
    assert laws.beyond("scratch", 1e9, 2e10) == (1.0, "")
    times, what = laws.beyond("scratch", 162e9, 3e11)
    assert times == pytest.approx(10.0) and what == "parameters"
    asked = {"language": "sw", "budget": "1e28 FLOPs", "available_text": "9000 TB"}
    said = tongues.plan("besiroglu2024", bases=["a=1B"], **asked).sentences()
    assert any(line.startswith("beyond: scratch is ") for line in said)
    assert said[-1] == "left out: a: no law here is of runs that continue a base."


def test_a_file_of_several_languages_needs_one(tmp_path: Path) -> None:
    path = written(tmp_path, "sw", "yo")
    assert read_laws([path], "yo").target == "yo"
    with pytest.raises(UserError, match="laws of 2 languages") as caught:
        read_laws([path])
    assert caught.value.hint == "choose one by `--language`: sw, yo"


def test_what_is_no_law_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "sw")
    lines = []
    for names in (
        ["besiroglu2042"],
        ["law.json"],
        ["besiroglu2024", "hoffmann2022"],
        ["zheng2024-scratch-compute"],
    ):
        with pytest.raises(UserError) as caught:
            read_laws(names)
        lines.append(f"{' '.join(names)}: [{caught.value.where}] {caught.value}")
    golden("plan/refused laws", "\n".join(lines))
