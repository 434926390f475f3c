import json
import pickle
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from tests.models.published import DEEPSEEK, WIDTHS
from tests.train.engine.together import backward, make_optimizer, make_scorer
from tongues.core.errors import Stopped, UserError
from tongues.text.tokens.frame import TextFrame
from tongues.text.tokens.mixture import Phase
from tongues.train.checkpoint import (
    Checkpoints,
    Position,
    list_checkpoints,
    load_weights,
    remove_passing,
)
from tongues.train.engine import storage
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import Processor
from tongues.train.engine.scorer import Scorer
from tongues.train.engine.sharding import kept_buffers
from tongues.train.replay import HoldHistory
from tongues.train.spikes import Recent

Course = tuple[Scorer, torch.optim.Optimizer]


@pytest.fixture
def trained() -> Course:
    """A model with its optimizer after a step."""
    torch.set_num_threads(1)
    scorer = make_scorer()
    optimizer = make_optimizer(scorer)
    step(scorer, optimizer)
    return scorer, optimizer


def step(scorer: Scorer, optimizer: torch.optim.Optimizer) -> None:
    backward(scorer, 0, Processes(), parts=1)
    optimizer.step()
    optimizer.zero_grad()


def checkpoints(directory: Path, course: Course) -> Checkpoints:
    return Checkpoints(directory, *course, Processes())


def state(course: Course) -> list[bytes]:
    scorer, optimizer = course
    moments = [optimizer.state[weight][key] for weight in scorer.parameters() for key in MOMENTS]
    return [t.numpy(force=True).tobytes() for t in (*scorer.parameters(), *moments)]


MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def position(step: int) -> Position:
    return Position(step=step, seconds=0.1 + 0.2, loss_sum=1 / 3, recent=Recent([], []))


def names(directory: Path) -> list[str]:
    return [place.name for place in list_checkpoints(directory)]


def test_everything_comes_back_as_it_was(trained: Course, tmp_path: Path) -> None:
    left = Position(
        step=7,
        seconds=0.1 + 0.2,
        loss_sum=1 / 3,
        recent=Recent([3.2, 1 / 7], [0.1, 0.3]),
        phases=[Phase(3, {"qaa": 1 / 3, "qab": 2 / 3})],
        held=HoldHistory({"qaa": [2.1, 1 / 7]}, {"qaa": [[3, 0.1, 1 / 3]]}),
    )
    with checkpoints(tmp_path, trained) as saved:
        saved.save(left)
    fresh = make_scorer()
    other = (fresh, make_optimizer(fresh))
    found, damaged = checkpoints(tmp_path, other).load()
    assert (found, damaged) == (left, [])
    assert state(other) == state(trained)
    step(*other)
    step(*trained)
    assert state(other) == state(trained)


def test_nothing_is_pickled_and_every_file_is_summed_up(trained: Course, tmp_path: Path) -> None:
    with checkpoints(tmp_path, trained) as saved:
        saved.save(position(1))
    files = {file.name: file for file in (tmp_path / "step-00000001").iterdir()}
    about = {"config.json", "generation_config.json"}
    assert set(files) == {"state-1-of-1.safetensors", "position.json"} | about
    for file in files.values():
        with pytest.raises((pickle.UnpicklingError, ValueError, KeyError, IndexError, EOFError)):
            pickle.loads(file.read_bytes())
    summed = json.loads(files["position.json"].read_text())["files"]
    assert set(summed) == set(files) - {"position.json"}


def test_training_continues_while_a_checkpoint_is_written(
    trained: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_write, may_sum, write = threading.Event(), threading.Event(), storage.write_shares

    def slowly(path: Path, shares: dict[str, storage.Share], staged: Callable[[], None]) -> str:
        def staged_slowly() -> None:
            staged()
            may_sum.wait(20)

        may_write.wait(20)
        return write(path, shares, staged_slowly)

    monkeypatch.setattr(storage, "write_shares", slowly)
    before = state(trained)
    with checkpoints(tmp_path, trained) as saved:
        assert saved.ready
        saved.save(position(1))
        backward(trained[0], 1, Processes(), parts=1)  # of the weights that are being written
        threading.Timer(0.2, may_write.set).start()
        saved.stage()
        assert saved.cost > 0.15  # the timer began a little before
        step(*trained)  # they may change, before they are summed up
        assert names(tmp_path) == []
        assert not saved.ready
        may_sum.set()
        saved.wait()
        assert names(tmp_path) == ["step-00000001"]
    assert state(trained) != before
    checkpoints(tmp_path, trained).load()
    assert state(trained) == before


def test_the_newest_are_kept_and_milestones_for_good(trained: Course, tmp_path: Path) -> None:
    place = tmp_path / "checkpoints"
    with checkpoints(place, trained) as saved:
        saved.save(position(1))
    remove_passing(tmp_path)
    assert not place.exists()
    with checkpoints(place, trained) as saved:
        for number in range(1, 6):
            saved.save(position(number), milestone=number == 2)
        saved.wait()
        assert names(place) == ["milestone-00000002", "step-00000004", "step-00000005"]
    remove_passing(tmp_path)
    assert names(place) == ["milestone-00000002"]
    found, _ = checkpoints(place, trained).load()
    assert found == position(2)


@pytest.mark.parametrize("damage", ["cut", "flip", "gone", "config", "position", "digit"])
def test_a_damaged_one_is_named_and_the_one_before_it_used(
    trained: Course, tmp_path: Path, damage: str
) -> None:
    with checkpoints(tmp_path, trained) as saved:
        saved.save(position(1))
        before = state(trained)
        saved.wait()
        step(*trained)
        saved.save(position(2))
    newest = tmp_path / "step-00000002"
    file = newest / "state-1-of-1.safetensors"
    content = file.read_bytes()
    about = (newest / "position.json").read_text()
    flipped = content[:-5] + bytes([content[-5] ^ 1]) + content[-4:]
    damages: dict[str, Callable[[], object]] = {
        "cut": lambda: file.write_bytes(content[:-100]),
        "flip": lambda: file.write_bytes(flipped),
        "gone": file.unlink,
        "config": lambda: (newest / "config.json").write_text("{}"),
        "position": lambda: (newest / "position.json").write_text("{"),
        "digit": lambda: (newest / "position.json").write_text(about.replace(": 2", ": 3", 1)),
    }
    damages[damage]()
    with checkpoints(tmp_path, trained) as saved:
        assert saved.load() == (position(1), [newest])
        assert state(trained) == before
        saved.save(position(1))
    assert names(tmp_path) == ["step-00000001"]  # the damaged one takes no good one's place


def test_what_a_kill_left_half_written_is_cleared(trained: Course, tmp_path: Path) -> None:
    half = tmp_path / ".step-00000003.999999.part"
    half.mkdir()
    (half / "state-1-of-1.safetensors").write_bytes(b"half")
    assert checkpoints(tmp_path, trained).load() == (None, [])
    assert not half.exists()


def full(path: Path, shares: dict[str, storage.Share], staged: Callable[[], None]) -> str:
    path.write_bytes(b"half")
    staged()
    raise OSError(28, "No space left on device")


def test_one_that_cannot_be_written_ends_the_run_and_spares_the_one_before(
    trained: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = checkpoints(tmp_path, trained)
    saved.save(position(1))
    saved.wait()
    monkeypatch.setattr(storage, "write_shares", full)
    saved.save(position(2))
    with pytest.raises(UserError, match="No space left") as caught:
        saved.stage()
        saved.save(position(3))
    assert "step-00000001" in caught.value.hint
    assert [place.name for place in tmp_path.iterdir()] == ["step-00000001"]
    assert saved.load() == (position(1), [])
    with pytest.raises(UserError, match="No space left"), checkpoints(tmp_path, trained) as saved:
        saved.save(position(2))
        raise Stopped("stopped at step 1 of 9")


def test_its_weights_are_opened_by_themselves(trained: Course, tmp_path: Path) -> None:
    with checkpoints(tmp_path, trained) as saved:
        saved.save(position(1))
    place = tmp_path / "step-00000001"
    tokens = torch.arange(12)[None]
    with torch.no_grad():
        expected = trained[0].model(input_ids=tokens).logits
        assert torch.equal(load_weights(place)(input_ids=tokens).logits, expected)
    shutil.copyfile(place / "config.json", place / "state-1-of-1.safetensors")
    with pytest.raises(UserError, match="is damaged"):
        load_weights(place)


def test_what_a_model_keeps_beside_its_weights_is_kept(tmp_path: Path) -> None:
    settings = WIDTHS | DEEPSEEK | {"vocab_size": 64}
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("deepseek_v3", **settings))
    (name,) = (name for name in kept_buffers(model) if name.endswith("correction_bias"))
    model.get_buffer(name).fill_(7.0)
    scorer = Scorer(model, Processor(torch.device("cpu"), False, 1), TextFrame(0, 0), chunked=True)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    with Checkpoints(tmp_path, scorer, optimizer, Processes()) as saved:
        saved.save(position(1))
        saved.wait()
        model.get_buffer(name).fill_(0.0)
        saved.load()
    assert (model.get_buffer(name) == 7.0).all()
    (place,) = tmp_path.glob("step-*")
    assert (load_weights(place).get_buffer(name) == 7.0).all()
