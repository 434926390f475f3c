"""What is wrong about an object of another package is said as of a built-in one."""

import pytest

from tests.extension.conftest import Tongues

EXPERTS = "experts={{partitions: [{}]}}"
EXPERTS_ONE = EXPERTS.format("{by: alphabet, k: 2}")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (EXPERTS.format("{by: alphabt, k: 2}"), "did you mean `alphabet`?"),
        (EXPERTS.format("{by: alphabet}"), "`k` is missing"),
        (EXPERTS.format("{by: alphabet, k: 2, backward: true}"), "did you mean `backwards`?"),
        ("train.schedule={name: sawtoth}", "did you mean `sawtooth`?"),
        ("train.schedule={name: sawtooth, perod: 25%}", "did you mean `period`?"),
        ("train.schedule={name: sawtooth, period: 0%}", "a period of no steps"),
        ("train.schedule={name: sawtooth, period: long}", "train.schedule.period"),
        ("train.track=lins", "train.track: there is no tracker `lins`"),
        ("text={files: {qaa: a.txt}, clean: {capitlas: 0.2}}", "did you mean `capitals`?"),
        ("text={files: {qaa: a.txt}, clean: {capitals: -1}}", "not a threshold"),
        ("text={files: {qaa: a.txt}, clean: {title: 2}}", "text.clean.title"),
    ],
)
def test_settings_are_checked(tongues: Tongues, override: str, message: str) -> None:
    done = tongues("check", "small.yaml", "train.base=x", override, fails=True)
    assert message in done.stderr


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (EXPERTS_ONE, "there is no partition `alphabet`"),
        ("train.schedule=sawtooth", "there is no schedule `sawtooth`"),
        ("text={files: {qaa: a.txt}, clean: {capitals: 0.2}}", "unknown key `capitals`"),
    ],
)
def test_without_the_package_its_objects_are_unknown(
    tongues: Tongues, override: str, message: str
) -> None:
    done = tongues("check", "small.yaml", "train.base=x", override, fails=True, plain=True)
    assert message in done.stderr
