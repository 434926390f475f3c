from tests.golden import golden
from tests.report.evaluation.scored import MIXED, PLAIN, SOURCE, changed, outcome
from tongues.report.evaluation.view import card_section


def test_a_card_says_scores_comparisons_and_how() -> None:
    found = outcome((SOURCE, PLAIN, MIXED), shots=8)
    said = card_section(found, MIXED)
    golden("evaluation-card/of a run", said)
    bare = changed(found, False, "models", 2, "prompted")
    assert "comes the token `<end>`, but nothing before" in card_section(bare, MIXED)
    loss = found.texts["study"].losses[MIXED]["qaa"]
    assert f"| qaa | base | {loss.bits_per_byte.value:.3f} [" in said
    tables = [part.splitlines() for part in said.split("\n\n") if part.startswith("|")]
    assert len(tables) == 5
    assert all(len({line.count("|") for line in table}) == 1 for table in tables)
