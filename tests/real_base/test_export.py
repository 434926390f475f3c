"""A real base continued with new tokens, exported for transformers and for llama.cpp."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks.smollm2 import make_smollm2
from tests.command import run_command
from tongues.files import read_json

ROOT = Path(__file__).parents[2]
SWAHILI = ROOT / "../shared/data/text/ms_beginners/sw.jsonl.gz"
ENGLISH = ROOT / "../shared/data/text/bible/en.jsonl.gz"
PROMPTS = ("The capital of Kenya is", "Habari ya asubuhi,", "def add(a, b):")
RECIPE = """
name: sw
text:
  files:
    sw: {paths: [%s], limit: 300 documents}
    en: {paths: [%s], limit: 100 documents}
tokens:
  base: %s
  extend: {new_tokens: 512, languages: [sw], preserve: [en]}
  held_out: 20k tokens
train:
  base: {model: %s, languages: [en]}
  mixture: {sw: 100%%}
  budget: 1k tokens
  batch: 512 tokens
  context: 256 tokens
  micro_batch: 512 tokens
  learning_rate: 1.0e-5
  num_evals: 1
  eval_tokens: 2k tokens
"""


@pytest.mark.slow
@pytest.mark.skipif(not SWAHILI.is_file(), reason="the shared texts are not here")
def test_bfloat16_and_gguf_write_the_same_greedy_text(tmp_path: Path) -> None:
    base = make_smollm2(ROOT / "build/smollm2").resolve()
    recipe = tmp_path / "sw.yaml"
    recipe.write_text(RECIPE % (SWAHILI.resolve(), ENGLISH.resolve(), base, base))
    for words in (["prepare", recipe], ["train", recipe], ["export", "sw", "-o", "plain"]):
        done = run_command(words, tmp_path)
        assert done.returncode == 0, done.stderr
    assert read_json(tmp_path / "plain/config.json")["dtype"] == "bfloat16"  # as its base
    card = (tmp_path / "plain/README.md").read_text()
    assert str(tmp_path) not in card and "rounded from fp32 to bf16" in card
    pytest.importorskip("llama_cpp")
    if not os.environ.get("LLAMA_CPP"):
        pytest.skip("LLAMA_CPP names no source of llama.cpp")
    done = run_command(["export", "sw", "-o", "both", "--dtype", "fp32", "--gguf"], tmp_path)
    assert "pre-tokenizer smollm" in done.stderr and "other ids" in done.stderr, done.stderr
    assert greedy_gguf(tmp_path / "both/model-f32.gguf") == greedy(tmp_path / "both")


def greedy(folder: Path) -> list[list[int]]:
    """24 tokens behind each prompt, by transformers."""
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    found = []
    for prompt in PROMPTS:
        ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)["input_ids"]
        mask = torch.ones_like(ids)
        out = model.generate(
            ids, attention_mask=mask, max_new_tokens=24, do_sample=False, eos_token_id=[]
        )
        found.append(out[0, ids.shape[1] :].tolist())
    return found


def greedy_gguf(file: Path) -> list[list[int]]:
    """The same by llama.cpp."""
    llama_cpp = pytest.importorskip("llama_cpp")
    llama = llama_cpp.Llama(str(file), n_ctx=256, verbose=False, n_threads=1)
    found = []
    for prompt in PROMPTS:
        ids = llama.tokenize(prompt.encode(), add_bos=False, special=False)
        each = llama.generate(ids, temp=0.0, repeat_penalty=1.0, reset=True)
        found.append([token for token, _ in zip(each, range(24), strict=False)])
    return found
