"""What is wrong about an object of another package is said as of a built-in one."""

import pytest

from tests.extension.conftest import Tongues
from tests.golden import cases, golden

EXPERTS = "experts={{partitions: [{}]}}"
EXPERTS_ONE = EXPERTS.format("{by: alphabet, k: 2}")


@pytest.mark.parametrize("override", cases("refused-extras"))
def test_settings_are_checked(tongues: Tongues, override: str) -> None:
    done = tongues("check", "small.yaml", "train.base=x", override, fails=True)
    golden(f"refused-extras/{override}", done.stderr)


@pytest.mark.parametrize("override", cases("unknown-extras"))
def test_without_the_package_its_objects_are_unknown(tongues: Tongues, override: str) -> None:
    done = tongues("check", "small.yaml", "train.base=x", override, fails=True, plain=True)
    golden(f"unknown-extras/{override}", done.stderr)
