"""Perplexity, bits per byte and answers to items beside independent implementations.

Hugging Face's sliding windows (the loop of its page on perplexity, by the model's own loss) and
lm-eval's rolling loss (`loglikelihood_rolling`) over the same documents: XCOPA's premises end to
end, a document a language, long enough for many windows, under the same policy: without the token
that a tokenizer puts before a text, which lm-eval else scores too. Then the choices of XCOPA's
items, behind demonstrations and alone, beside lm-eval's loglikelihood, as its own tokenizer encodes
them: of models whose tokenizer puts a token before a text, and of such whose puts none. Random
models of several families, made decided so that tokens differ in what they cost.

Hugging Face's page weights the mean loss of a window by one token less than it was taken over, and
leaves out the first token of each window where windows do not overlap. Both are compared: its
printed number by the same weights from our tokens, and sum over sum.

usage: python benchmarks/evaluate_parity.py DATA PYTHON
DATA: a folder with `xcopa` of `<language>.jsonl`. PYTHON: of an environment with lm-eval.
"""

import json
import math
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from tongues.evaluate.losses import Policy, windows
from tongues.evaluate.tasks import find_languages, load_task, read_fewshot_task
from tongues.evaluate.tasks.score import fewshot_prefix, score_task
from tongues.evaluate.texts import routed_losses, token_nats
from tongues.experts.ensemble.model import Model, open_model
from tongues.files import write_json
from tongues.text import Document
from tongues.tokens.tokenizer import END, save_tokenizer, train_tokenizer

VOCABULARY, CONTEXT, PREMISES = 4096, 128, 40
LONG, ITEMS, SHOTS = 512, 8, 2
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {"num_key_value_heads": 2},
    "qwen2": {"num_key_value_heads": 2},
    "gpt_neox": {},
    "gemma2": {"num_key_value_heads": 2, "head_dim": 16, "sliding_window": 48},
    "xglm": {"d_model": 64, "ffn_dim": 128, "num_layers": 2, "attention_heads": 4},
}
ASKED = {"llama": True, "gpt2": False, "gpt_neox": False}  # whether a token stands before prompts
HUB_END = "<|endoftext|>"
WIDTHS = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}

THEIRS = """
import json, sys
import torch
torch.set_num_threads(1)
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from transformers import PreTrainedTokenizerFast
folder, file, most = sys.argv[1:]
texts = json.load(open(file))
tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)  # not a family's own, with its rules
model = HFLM(
    pretrained=folder, tokenizer=tokenizer, device="cpu", dtype="float32", batch_size=4,
    max_length=int(most), add_bos_token=False,  # else it is scored behind itself
)
asked = [Instance("loglikelihood_rolling", {}, (text,), n) for n, text in enumerate(texts)]
print(json.dumps(model.loglikelihood_rolling(asked, disable_tqdm=True)))
"""
THEIR_ANSWERS = """
import json, sys
import torch
torch.set_num_threads(1)
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
folder, file = sys.argv[1:]
model = HFLM(pretrained=folder, device="cpu", dtype="float32", batch_size=4)
pairs = json.load(open(file))
asked = [Instance("loglikelihood", {}, tuple(pair), n) for n, pair in enumerate(pairs)]
print(json.dumps([found[0] for found in model.loglikelihood(asked, disable_tqdm=True)]))
"""


def make(folder: Path, family: str, texts: dict[str, list[str]], context: int = CONTEXT) -> None:
    """A random model of a family, with a tokenizer of the text."""
    sizes = {lang: sum(len(text.encode()) for text in own) for lang, own in texts.items()}
    save_tokenizer(train_tokenizer(texts, sizes, VOCABULARY), folder)
    own = FAMILIES.get(family, {})
    widths = own if family == "xglm" else WIDTHS | own
    ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
    lengths = {"vocab_size": VOCABULARY, "max_position_embeddings": context}
    config = AutoConfig.for_model(family, **lengths, **ends, **widths)
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(config)
    for weight in model.requires_grad_(False).parameters():
        weight.mul_(3 if weight.ndim == 2 else 1)
    model.save_pretrained(folder)


def as_on_the_hub(folder: Path, *, begun: bool) -> None:
    """Name the end of documents as others do, and let the tokenizer put it before a text or not."""
    for name in ("tokenizer.json", "tokenizer_config.json"):
        file = folder / name
        file.write_text(file.read_text(encoding="utf-8").replace(END, HUB_END), encoding="utf-8")
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    write_json(folder / "tokenizer_config.json", settings | {"add_bos_token": begun})
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    write_json(folder / "tokenizer.json", content | {"post_processor": None})
    if begun:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        special = [(HUB_END, tokenizer.token_to_id(HUB_END))]
        pieces = {"single": f"{HUB_END} $A", "pair": f"{HUB_END} $A $B"}
        tokenizer.post_processor = TemplateProcessing(**pieces, special_tokens=special)
        tokenizer.save(str(folder / "tokenizer.json"))


def answered(subject: Model, data: Path, python: str, place: Path) -> tuple[float, int]:
    """The largest difference of a choice's nats from lm-eval's, and of how many choices."""
    ours: list[float] = []
    pairs: list[tuple[str, str]] = []
    task = load_task("xcopa")
    for language in find_languages(task, data):
        fewshot = read_fewshot_task(task, language, data, limit=ITEMS, num_fewshot=SHOTS)
        before = fewshot_prefix(task, fewshot.demonstrations[0])
        scores = score_task(subject, fewshot).scores
        for item, score in zip(fewshot.items, scores, strict=True):
            ours += score.sums
            asked = list(zip(item.prompts, item.endings, strict=True))
            pairs += [(f"{before}{prompt}", f" {ending}") for prompt, ending in asked]
    write_json(place / "pairs.json", pairs)
    theirs = run_theirs(
        python, THEIR_ANSWERS, str(subject.ensemble.tokenizer), str(place / "pairs.json")
    )
    return float(np.abs(np.array(ours) - np.array(theirs)).max()), len(pairs)


def run_theirs(python: str, script: str, *arguments: str) -> list[float]:
    """What a script prints under lm-eval's Python."""
    command = [python, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


@torch.inference_mode()
def sliding(model: PreTrainedModel, ids: torch.Tensor, stride: int) -> tuple[float, float, int]:
    """Nats as the page sums them, per token; then sum over sum, and over how many tokens."""
    page, page_count, total, count, before = 0.0, 0, 0.0, 0, 0
    for begin in range(0, ids.shape[1], stride):
        end = min(begin + CONTEXT, ids.shape[1])
        inputs = ids[:, begin:end]
        target = inputs.clone()
        target[:, : inputs.shape[1] - (end - before)] = -100
        scored = int((target[:, 1:] != -100).sum())
        loss = model(inputs, labels=target).loss.item()
        valid = int((target != -100).sum()) - 1
        page, page_count = page + loss * valid, page_count + valid
        total, count, before = total + loss * scored, count + scored, end
        if end == ids.shape[1]:
            break
    return page / page_count, total, count


def as_the_page(subject: Model, ids: np.ndarray, stride: int) -> float:
    """The page's number, by its weights, from our tokens."""
    (nats,) = token_nats(subject, [ids], Policy(CONTEXT - 1, stride))
    total, weights = 0.0, 0
    for window in windows(Policy(CONTEXT - 1, stride), 1 + len(ids)):
        valid = window.stop - window.start - (window.start > 1)
        total += nats[window.start - 1 : window.stop - 1].mean() * valid
        weights += valid
    return total / weights


def apart(one: float, other: float) -> float:
    """Relative."""
    return abs(one / other - 1)


def compare(subject: Model, documents: list[Document], python: str, place: Path) -> list[str]:
    """The largest differences, over the documents."""
    folder, lines = subject.ensemble.tokenizer, []
    model, first = subject.ensemble.models[0], np.array([subject.first])
    for stride in (32, 127):
        ours = routed_losses([subject], documents, Policy(CONTEXT - 1, stride))[0]
        perplexities, bits, pages = [], [], []
        for number, document in enumerate(documents):
            ids = subject.encode(document.text)
            whole = torch.from_numpy(np.concatenate([first, ids]))[None]
            page, nats, count = sliding(model, whole, stride)
            assert count == ours.tokens[number]
            size = len(document.text.encode())
            perplexities.append(apart(math.exp(ours.nats[number] / count), math.exp(nats / count)))
            bits.append(apart(ours.nats[number] / ours.bytes[number], nats / size))
            pages.append(apart(math.exp(as_the_page(subject, ids, stride)), math.exp(page)))
        lines.append(
            f"    sliding windows of {CONTEXT}, stride {stride:3d}: perplexity"
            f" {max(perplexities):.1e}, as the page weights it {max(pages):.1e},"
            f" bits per byte {max(bits):.1e}"
        )
    write_json(place / "texts.json", [document.text for document in documents])
    theirs = run_theirs(python, THEIRS, str(folder), str(place / "texts.json"), str(CONTEXT))
    ours = routed_losses([subject], documents, Policy(CONTEXT, back=True))[0]
    perplexity = max(
        apart(math.exp(own / count), math.exp(-total / count))
        for own, total, count in zip(ours.nats, theirs, ours.tokens, strict=True)
    )
    whole = apart(ours.bits_per_byte, -sum(theirs) / math.log(2) / ours.bytes.sum())
    lines.append(
        f"    lm-eval's rolling windows of {CONTEXT}: perplexity {perplexity:.1e},"
        f" bits per byte of all {whole:.1e}"
    )
    return lines


def main(data: Path, python: str) -> None:
    """Compare all families."""
    torch.set_num_threads(1)
    lines: list[str] = []

    def tell(*more: str) -> None:
        print(*more, sep="\n", flush=True)
        lines.extend(more)

    texts = {}
    for file in sorted((data / "xcopa").glob("*.jsonl")):
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        texts[file.stem] = [row["premise"] for row in rows[:PREMISES]]
    documents = [Document(lang, lang, " ".join(own), lang, "xcopa") for lang, own in texts.items()]
    tell(
        f"{date.today()}, torch {torch.__version__}, {len(documents)} documents, each of a language"
    )
    tell("largest relative differences, document by document")
    with tempfile.TemporaryDirectory() as folder:
        for family in FAMILIES:
            place = Path(folder) / family
            make(place, family, texts)
            subject = open_model(str(place), place)
            tell(f"  {family}", *compare(subject, documents, python, Path(folder)))
        tell("largest differences in nats, choice by choice")
        for family, begun in ASKED.items():
            place = Path(folder) / f"{family}-asked"
            make(place, family, texts, LONG)
            as_on_the_hub(place, begun=begun)
            subject = open_model(str(place), place)
            assert subject.prompted == begun
            most, count = answered(subject, data, python, Path(folder))
            stands = "its token" if begun else "nothing"
            tell(f"  {family:8s} {stands} before a prompt: {most:.1e} of {count} choices")
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
