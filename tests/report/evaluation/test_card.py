from tests.report.evaluation.scored import MIXED, PLAIN, SOURCE, outcome
from tongues.report.evaluation.view import card_section


def test_a_card_says_scores_comparisons_and_how() -> None:
    found = outcome((SOURCE, PLAIN, MIXED), shots=8)
    said = card_section(found, MIXED)
    assert said.startswith("## Evaluation\n\n### Losses on study\n\nIn bits per byte")
    loss = found.texts["study"].losses[MIXED]["qaa"]
    assert f"| qaa | base | {loss.bits_per_byte.value:.3f} [" in said
    assert (
        said.count("# Versus its base") == 1 and said.count("# Versus the model qaa-source-s1") == 1
    )
    assert "33.3 ± 4.3 | – | 120 |" in said
    assert "8 demonstrations, drawn 3 times" in said
    assert "```\nTwo sleep <here>, right? No, all run.\n```" in said
    assert "Before every text comes the token `<end>`." in said
    tables = [part.splitlines() for part in said.split("\n\n") if part.startswith("|")]
    assert len(tables) == 5
    assert all(len({line.count("|") for line in table}) == 1 for table in tables)
