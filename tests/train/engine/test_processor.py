import pytest
import torch

from tongues.train.engine.processor import release_memory


def test_a_gpus_allocator_gives_back_what_it_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []
    monkeypatch.setattr("gc.collect", lambda: 0)  # of all that other tests left
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: given.append("back"))
    release_memory()
    assert not given  # which would start CUDA where nothing used it
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    release_memory()
    assert given
