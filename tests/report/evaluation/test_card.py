from pathlib import Path

from tests.report.evaluation.scored import MIXED, PLAIN, SOURCE, outcome
from tongues.report.evaluation import card_section, write_cards


def test_a_card_says_scores_comparisons_and_how() -> None:
    found = outcome((SOURCE, PLAIN, MIXED), shots=8)
    said = card_section(found, MIXED)
    assert said.startswith("## Evaluation\n\n### Losses on study\n\n| language | bits per byte |")
    loss = found.texts["study"].losses[MIXED]["qaa"]
    assert f"| qaa | {loss.bits_per_byte.value:.3f} [" in said
    assert said.count(f"Beside `{SOURCE}`:") == 2  # the first and its seed are one: losses, answers
    assert "33.3 % ± 4.3 | 120 |" in said
    assert "8 demonstrations, mean of 3 draws" in said
    assert "> Two sleep <here>, right? No, all run." in said
    assert "Before every text stood the token `<end>`." in said
    widths = {line.count("|") for line in said.splitlines() if line.startswith("|")}
    assert len(widths) == 1


def test_a_file_for_each_model(tmp_path: Path) -> None:
    found = outcome((SOURCE, MIXED), languages=("qaa",))
    written = write_cards(found, tmp_path / "cards")
    names = [path.name.rpartition("-")[0] for path in written]  # a hash tells `a/b` from `a-b`
    assert names == ["study-qaa-source-s1", "study-qab-cpt-r20-s1"]
    assert written[1].read_text(encoding="utf-8") == card_section(found, MIXED)
