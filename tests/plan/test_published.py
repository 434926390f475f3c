"""Published projects: what they did is advised or not decided, with their own study left out."""

import pytest

from tongues.errors import UserError
from tongues.plan import Project, ask, make_plan, published_projects, read_laws
from tongues.plan.published import crossover, similar, usual_replay, verdict

BASES = {
    "Llama 2 7B": "meta-llama/Llama-2-7b-hf",
    "Llama 2 13B": "meta-llama/Llama-2-13b-hf",
    "Llama 2 70B": "meta-llama/Llama-2-70b-hf",
    "Llama 3.1 8B": "meta-llama/Llama-3.1-8B",
    "Mistral 7B": "mistralai/Mistral-7B-v0.1",
    "Qwen2.5 7B": "Qwen/Qwen2.5-7B",
}
LANGUAGES = {"Occiglot EU5 7B": "de", "MODA 7B": "tr"}


def advice(project: Project) -> str:
    study = project.project.replace("Gemma-2 ", "").replace("Llama 3.1 ", "").split()[0]
    others = [one for one in published_projects() if study not in one.project]
    base = BASES.get(project.base, f"base={project.params:g}@2T")
    tokens = {"params": f"{project.params:g}", "tokens": f"{project.tokens:g}"}
    question = ask(**tokens, bases=[base], language=LANGUAGES.get(project.project))
    try:
        taken = make_plan(read_laws(()), question, others).recommendation
    except UserError:
        return "declined"
    return taken.option.way.strategy if taken.decided else "declined"


def test_no_project_gets_advice_against_what_worked() -> None:
    answers = {one: advice(one) for one in published_projects()}
    assert len(answers) >= 40
    for project, answer in answers.items():
        if project.method == "scratch":
            assert answer != ("scratch" if project.target == "worse" else "cpt"), project.project
        elif project.method == "continued":
            wrong = {"better": "scratch", "worse": "cpt"}.get(project.target)
            assert answer != wrong, project.project
    continued = {
        p: a for p, a in answers.items() if p.target == "better" and p.method == "continued"
    }
    assert sum(answer == "cpt" for answer in continued.values()) >= len(continued) / 2


def test_the_table_is_facts_with_their_sources() -> None:
    projects = published_projects()
    assert len({one.project for one in projects}) == len(projects)
    for one in projects:
        assert one.source and one.outcome and 1e8 < one.params < 1e12 and 1e8 < one.tokens < 2e13
        assert one.method in ("continued", "lora", "new tokenizer", "scratch")
        assert one.target in ("better", "mixed", "same", "worse")
        assert one.replay is None or 0 <= one.replay < 1
        assert (one.method == "scratch") == (one.base == "")


def test_the_crossover_is_the_measured_one() -> None:
    assert crossover(2e9) == (144e9, 283e9)
    low, high = crossover(8e9)
    assert low == pytest.approx(144e9 * 4**0.54) and high == pytest.approx(283e9 * 4**0.65)
    # as compute it is C = 1,113,708 N^1.65 within the range at 2B
    assert 6 * 2e9 * 144e9 < 1_113_708 * 2e9**1.65 < 6 * 2e9 * 283e9


def test_projects_of_another_size_are_not_counted() -> None:
    projects = published_projects()
    near = similar(projects, 8e9, 50e9)
    assert len(near) == 7 and all(one.method == "continued" for one in near)
    assert not similar(projects, 1e6, 20e6)
    assert not verdict(projects, 1e6, 20e6).continues
    assert verdict(projects, 8e9, 50e9).continues
    failed = [one for one in projects if one.target != "better"]
    assert not verdict(failed, 8e9, 50e9).continues


def test_the_usual_replay_counts_a_study_once() -> None:
    share, studies = usual_replay(published_projects())
    assert share == pytest.approx(0.25)
    assert len({one.source for one in studies}) == len(studies) >= 8
