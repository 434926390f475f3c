"""One dense model of an ensemble: distillation against plain training on the same tokens.

    python benchmarks/distillation.py [FOLDER]

The example of `docs/how-to/experts.md`: four synthetic languages, a base of 0.05M parameters, two
experts and a dense model on 120k tokens more. Two students continue the base on 120k tokens and
learn what the expert of each text predicts too, as half or nine tenths of the objective; `plain`
reads the same samples without a teacher. Scored on held-out text. What is trained is kept in
FOLDER, if one is named, and not trained again.
"""

import sys
import tempfile
from datetime import date
from pathlib import Path

import tongues
from tongues.pages import as_text
from tongues.report.evaluation.view import score_blocks

EXAMPLES = Path(__file__).parents[1] / "docs/examples"
STUDENT = (
    "train.run={}",
    "train.budget=120k tokens",
    "train.targets=[qaa, qab, qac, qad]",
    "train.mixture={{qaa: 25%, qab: 25%, qac: 25%, qad: 25%}}",
    "experts=null",
)
TEACHER = "train.teacher={{model: family/typology-2-s1, share: {}}}"
STUDENTS = {"plain": (), "half": (TEACHER.format("50%"),), "most": (TEACHER.format("90%"),)}


def main(workspace: Path) -> None:
    """Train, score, print and keep the table."""
    family, experts = EXAMPLES / "family.yaml", EXAMPLES / "experts.yaml"
    tongues.prepare(family, workspace=workspace)
    tongues.train(family, workspace=workspace)
    tongues.experts.train(experts, workspace=workspace)
    for run, teacher in STUDENTS.items():
        overrides = [*(key.format(run) for key in STUDENT), *teacher]
        tongues.train(experts, overrides, workspace=workspace)
    models = [*STUDENTS, "family/typology-2-s1@language", "family/dense-s1", "seed"]
    made = tongues.evaluate(models, workspace, text=["family"], name="distillation", page=False)
    lines = as_text(score_blocks(made, compare=True)).splitlines()
    lines.insert(0, f"{date.today()}  0.05M parameters, 120k tokens after the base")
    print("\n".join(lines))
    text = "\n".join(line.rstrip() for line in lines)
    Path(__file__).with_suffix(".txt").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(sys.argv[1] if sys.argv[1:] else folder))
