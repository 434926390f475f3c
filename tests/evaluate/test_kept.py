import json
from pathlib import Path

import pytest

import tongues
from tests.report.evaluation.scored import PLAIN, SCRATCH, SOURCE, outcome
from tongues.errors import UserError
from tongues.evaluate.evaluation import read_evaluation
from tongues.evaluate.kept import free_name, replaced
from tongues.verbs.evaluate import evaluation_folder

TEXTS = [(name, lang) for name in ("study", "xnli") for lang in ("qaa", "qab")]


def test_what_a_new_evaluation_would_replace(tmp_path: Path) -> None:
    models = [SOURCE, SCRATCH]
    assert free_name(tmp_path, models, TEXTS) == "evaluation"
    outcome(models, languages=("qaa", "qab")).write(tmp_path / "evaluations/evaluation")
    assert free_name(tmp_path, models, TEXTS) == "evaluation"  # the same again
    assert free_name(tmp_path, [*models, PLAIN], [*TEXTS, ("more", "qaa")]) == "evaluation"
    assert free_name(tmp_path, [SOURCE, PLAIN], TEXTS) == "evaluation-2"
    assert replaced("evaluation", tmp_path, [SOURCE, PLAIN], TEXTS) == [SCRATCH]
    assert replaced("evaluation", tmp_path, models, TEXTS[:3]) == ["xnli in qab"]
    outcome((SOURCE,), languages=("qab",)).write(tmp_path / "evaluations/evaluation-2")
    assert free_name(tmp_path, [PLAIN], TEXTS) == "evaluation-3"
    (tmp_path / "evaluations/evaluation/scores.json").write_text("{")
    assert free_name(tmp_path, [PLAIN], TEXTS) == "evaluation"  # nothing that can be read is lost


def test_an_unnamed_evaluation_leaves_the_one_before_and_a_named_one_says_so(
    house: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "qaa.jsonl"
    text.write_text("".join(json.dumps({"text": f"the ban of the {n}"}) + "\n" for n in range(8)))
    one, other = (str(house / "models" / name) for name in ("e0", "e1"))
    first = tongues.evaluate(one, tmp_path, text=text, page=False)
    assert first.name == "evaluation" and capsys.readouterr().err.count("evaluation`") == 0
    second = tongues.evaluate(other, tmp_path, text=text, page=False)
    assert second.name == "evaluation-2"
    said = "the result is `evaluation-2`: `evaluation` has scores of other models or texts"
    assert said in capsys.readouterr().err
    assert tongues.evaluate(other, tmp_path, text=text, page=False).name == "evaluation-2"
    for name, model in (("evaluation", one), ("evaluation-2", other)):
        kept = read_evaluation(tmp_path / "evaluations" / name)
        assert [of.name for of in kept.models] == [model] and kept.name == name
    capsys.readouterr()
    tongues.evaluate(one, tmp_path, text=text, page=False, name="evaluation-2")
    said = f"`evaluation-2` is replaced, with its scores of `{other}`"
    assert said in capsys.readouterr().err
    assert evaluation_folder(tmp_path, "evaluation-2").name == "evaluation-2"
    with pytest.raises(UserError, match="is an evaluation") as caught:
        tongues.report(tmp_path / "evaluations/evaluation-2")
    assert f"{tmp_path}/reports/evaluation-2/index.html" in caught.value.hint
