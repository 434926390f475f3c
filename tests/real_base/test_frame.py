"""The held-out loss of a real base is transformers', with and without the first token of a text."""

from pathlib import Path

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks.smollm2 import make_smollm2
from tests.command import run_command
from tongues.files import read_lines
from tongues.runs import read_run
from tongues.tokens import open_tokens

ROOT = Path(__file__).parents[2]
ENGLISH = ROOT / "../shared/data/text/bible/en.jsonl.gz"
START, CONTEXT, SCORED = "<|im_start|>", 256, 2048
RECIPE = """
name: en
text:
  files: {en: {paths: [%s], limit: 60 documents}}
tokens: {base: %s, document_start: %s, held_out: 4k tokens}
train:
  base: {model: %s, languages: [en]}
  targets: [en]
  mixture: {en: 100%%}
  budget: 512 tokens
  batch: 512 tokens
  context: 256 tokens
  learning_rate: 1.0e-5
  precision: float32
  num_evals: 1
  eval_tokens: 2048 tokens
"""


@pytest.mark.slow
@pytest.mark.skipif(not ENGLISH.is_file(), reason="the shared texts are not here")
def test_the_loss_of_the_base_is_that_of_transformers(tmp_path: Path) -> None:
    base = make_smollm2(ROOT / "build/smollm2").resolve()
    recipe = tmp_path / "en.yaml"
    recipe.write_text(RECIPE % (ENGLISH.resolve(), base, START, base))
    for verb in ("prepare", "train"):
        done = run_command([verb, recipe], tmp_path)
        assert done.returncode == 0, done.stderr
    tokens, run = open_tokens(tmp_path / "tokens/en"), read_run(tmp_path / "runs/en")
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32).eval()
    bos = AutoTokenizer.from_pretrained(base).convert_tokens_to_ids(START)

    def nats(ids: list[int]) -> torch.Tensor:
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids])).logits[0, :-1]
        return cross_entropy(logits, torch.tensor(ids[1:]), reduction="none").double()

    # held-out windows, as transformers scores them
    stream = tokens.valid("en").tolist()
    count = (len(stream) - 1) // CONTEXT
    taken = [number * count // (SCORED // CONTEXT) for number in range(SCORED // CONTEXT)]
    rows = [[bos, *stream[n * CONTEXT + 1 : (n + 1) * CONTEXT + 1]] for n in taken]
    kept = [nats(row)[torch.tensor(row[1:]) != bos] for row in rows]
    expected = float(torch.cat(kept).mean())
    first = read_lines(tmp_path / "runs/en/evals.jsonl")[0]
    assert first["step"] == 0 and first["loss"] == pytest.approx(expected, abs=1e-5)
    # whole documents with and without the token
    frame, shard, left = run.frame, tokens.shard("en", "valid"), 4096
    assert frame and frame.used and frame.token == START
    framed, bare = [], []
    for begin, stop in zip(shard.bounds[:-1], shard.bounds[1:], strict=True):
        ids = shard.tokens[begin + 1 : stop - 1].tolist()[:left]
        left -= len(ids)
        framed.append(nats([bos, *ids])[1:])
        bare.append(nats(ids))
        if left < 2:
            break
    assert frame.with_token == pytest.approx(float(torch.cat(framed).mean()), abs=1e-5)
    assert frame.without_token == pytest.approx(float(torch.cat(bare).mean()), abs=1e-5)
    assert AutoTokenizer.from_pretrained(tmp_path / "runs/en/model")("a")["input_ids"][0] == bos
