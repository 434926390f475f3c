import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoConfig

from tests.golden import golden, inputs
from tests.test_papers import folder_of, on_meta
from tongues.core.errors import UserError
from tongues.languages import find_language
from tongues.plan import BaseCheckpoint
from tongues.plan.bases import known_bases, read_base

LLAMA: dict[str, Any] = inputs("overrides")["Llama 3.2"]


def test_a_base_by_its_id_or_short_name() -> None:
    base = read_base("meta-llama/Llama-3.2-1B")
    assert (base.params, base.tokens, base.tokenizer) == (1_235_814_400, 9e12, "llama3")
    assert "de" in base.languages and "sw" not in base.languages
    assert (base.hidden, base.layers, base.tied, base.gated) == (2048, 16, True, True)
    assert read_base("llama-3.2-1b") == base and read_base("llama-3.2-1b@1T").tokens == 1e12
    with pytest.raises(UserError, match=r"did you mean `meta-llama/Llama-3\.2-1B`"):
        read_base("meta-llama/Llama-3.2-1")
    with pytest.raises(UserError) as refused:
        read_base("example/New-7B")
    golden("plan/a base that nobody knows", str(refused.value))


def test_an_instruction_model_has_the_facts_of_its_base_and_names_it() -> None:
    base, asked = read_base("Qwen/Qwen3.5-4B-Base"), read_base("qwen3.5-4b")
    assert (asked.name, asked.asked) == (base.name, "Qwen/Qwen3.5-4B")
    assert asked.params == base.params and not base.asked


@pytest.mark.parametrize("base", known_bases().values(), ids=lambda base: base.name)
def test_every_row_of_the_catalogue_is_whole_and_in_range(base: BaseCheckpoint) -> None:
    assert 1e8 < base.params < 2e11
    assert base.tokenizer and base.licence
    assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", base.released)
    assert [find_language(tag).tag for tag in base.languages] == list(base.languages)
    assert base.active is None or base.active < base.params / 3
    assert math.isnan(base.tokens) or 1 < base.tokens / base.params < 70_000
    if base.vocabulary and base.hidden:
        assert base.vocabulary * base.hidden * (1 if base.tied else 2) < base.params


def test_no_two_bases_or_instruction_models_share_a_short_name() -> None:
    names = [one for base in known_bases().values() for one in (base.name, base.instruct) if one]
    short = [name.split("/")[-1].lower() for name in names]
    assert not {name for name in short if short.count(name) > 1}


def test_a_base_by_its_size() -> None:
    assert read_base("llama=8B@15T") == BaseCheckpoint("llama", 8e9, 15e12)
    unknown = read_base("mine=1B")
    assert unknown.params == 1e9 and math.isnan(unknown.tokens)


def test_a_folder_has_the_parameters_of_its_weights(tmp_path: Path) -> None:
    model = on_meta(AutoConfig.for_model("llama", **LLAMA))
    (tmp_path / "config.json").write_text(json.dumps(LLAMA | {"model_type": "llama"}))
    with pytest.raises(UserError, match="no weights to count"):
        read_base(str(tmp_path))
    folder_of(model, tmp_path)
    base = read_base(f"{tmp_path}@9T")
    # As its model card has it, and an output matrix of its own.
    assert base.params == 1_235_814_400 + 128256 * 2048
    assert base.tokens == 9e12
    assert (base.vocabulary, base.hidden, base.layers, base.tied) == (128256, 2048, 16, False)
