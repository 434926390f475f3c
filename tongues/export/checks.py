"""Whether a chat model still does what it is asked: constraints on the form of an answer.

In the manner of IFEval (2311.07911): no judge is needed, and no language but that of the prompt.
"""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

_TOKENS = 96  # of an answer


def _is_json(answer: str) -> bool:
    with suppress(ValueError):
        body = re.sub(r"^```(json)?|```$", "", answer.strip()).strip()
        return isinstance(json.loads(body), dict | list)
    return False


def _lines(answer: str, mark: str) -> int:
    return sum(line.lstrip().startswith(mark) for line in answer.splitlines())


CHECKS: dict[str, Callable[[str], bool]] = {
    "Reply with the single word yes and nothing else.": lambda x: x.strip(" .!\n").lower() == "yes",
    "Name three colours, in capital letters only.": lambda x: x.isupper(),
    "Describe the sea in one sentence, in lower case letters only.": lambda x: x.islower(),
    "List exactly three fruits, each on a line that begins with an asterisk (*).": lambda x: (
        _lines(x, "*") == 3
    ),
    "Give the name and the age of a person as a JSON object, and nothing else.": _is_json,
    "Write one sentence about rain without any comma.": lambda x: bool(x.strip()) and "," not in x,
    "Write a greeting of fewer than ten words.": lambda x: 0 < len(x.split()) < 10,
    "Write one sentence about dogs, between double quotation marks.": lambda x: bool(
        re.fullmatch(r'["“].*["”]', x.strip(), re.DOTALL)
    ),
    "Write one sentence that has the word river twice.": lambda x: (
        len(re.findall(r"\briver\b", x.lower())) == 2
    ),
    "Write two short paragraphs about bread, with a line of three asterisks between.": lambda x: (
        len([part for part in x.split("***") if part.strip()]) == 2
    ),
    "Say what a book is. End your answer with the words The end.": lambda x: x.strip(
        ' ."*\n'
    ).endswith("The end"),
    "Write a title for a story about a cat, in double angular brackets, such as <<title>>.": (
        lambda x: bool(re.search(r"<<[^<>]+>>", x))
    ),
}


@torch.inference_mode()
def share_passed(folder: Path) -> float:
    """The share of the checks that a chat model passes, by its most probable answers."""
    model: Any = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    model = model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
    tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    tokenizer.padding_side = "left"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    asked = tokenizer.apply_chat_template(
        [[{"role": "user", "content": prompt}] for prompt in CHECKS],
        add_generation_prompt=True,
        padding=True,
        return_dict=True,
        return_tensors="pt",
    )
    ids, mask = (asked[name].to(model.device) for name in ("input_ids", "attention_mask"))
    ends = model.generation_config.eos_token_id
    context = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    room = _TOKENS if context is None else max(1, min(_TOKENS, context - ids.shape[1]))
    answers = model.generate(
        ids,
        attention_mask=mask,
        max_new_tokens=room,
        do_sample=False,
        temperature=None,
        top_p=None,
        top_k=None,
        pad_token_id=ends[0] if isinstance(ends, list) else ends,
    )
    texts = tokenizer.batch_decode(answers[:, ids.shape[1] :], skip_special_tokens=True)
    return sum(check(text) for check, text in zip(CHECKS.values(), texts, strict=True)) / len(
        CHECKS
    )
