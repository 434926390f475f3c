"""Laws with few draws, which take most of the time of a test."""

import pytest


@pytest.fixture(autouse=True)
def quick(few_draws: None) -> None:
    pass
