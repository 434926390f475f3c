"""The page of base models names what the code accepts, and by which part."""

import re
from pathlib import Path

import pytest
from transformers import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES,
)

from tests.models.families import FAMILIES
from tests.models.published import PUBLISHED
from tongues.errors import UserError
from tongues.models.huggingface import configure

PAGE = Path(__file__).parents[2] / "docs/reference/bases.md"
ROWS = re.findall(r"^\| `(\w+)` \| .* \| (.*) \| (.*) \|$", PAGE.read_text(), re.MULTILINE)[1:]
LOADED = ("bert", "paligemma", "cohere2_vision")  # refused by their weights


@pytest.mark.parametrize(("family", "trained", "known"), ROWS)
def test_the_page_says_what_a_configuration_of_the_kind_gives(
    tmp_path: Path, family: str, trained: str, known: str
) -> None:
    names = MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES | MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    if trained == "text part":
        names = MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES
    config = CONFIG_MAPPING[family](architectures=[names[family]] if family in names else None)
    config.save_pretrained(tmp_path)
    if trained.startswith("refused") and family not in LOADED:
        with pytest.raises(UserError):
            configure(tmp_path)
        return
    text = configure(tmp_path)
    assert (text.model_type == family) == (trained == "all" or family == "bert")


def test_what_is_called_tested_is_in_the_tests() -> None:
    tested = {
        family for family, trained, known in ROWS if known == "tested" and "ref" not in trained
    }
    assert tested == {kind for kind, _ in FAMILIES.values()} | {
        row[0] for row in PUBLISHED.values()
    }
