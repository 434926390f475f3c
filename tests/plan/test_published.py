"""The table of published projects: sound rows, and the nearest of them."""

from tongues.plan import published_projects
from tongues.plan.published import nearest_projects


def test_every_row_is_sound() -> None:
    rows = published_projects()
    assert len(rows) > 20 and len({row.project for row in rows}) == len(rows)
    for row in rows:
        assert 1e6 < row.params < 1e12 and 1e6 < row.tokens < 1e14 and row.source
        assert row.method in ("continued", "lora", "new tokenizer", "scratch")
        assert row.replay is None or 0 <= row.replay < 1


def test_the_nearest_come_first() -> None:
    row = next(row for row in published_projects() if row.method == "continued")
    assert nearest_projects(row.params, row.tokens)[0].params == row.params
    assert all(one.method == "continued" for one in nearest_projects(7e9, 1e10))
    assert str(row).startswith(f"{row.project} ({row.base}, ")
