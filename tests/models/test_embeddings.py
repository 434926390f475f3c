import re
from pathlib import Path

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import CONFIG_MAPPING, PreTrainedModel
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES,
)

from tests.models.families import FAMILIES
from tests.models.published import PUBLISHED
from tests.models.shortened import shortened
from tongues.core.errors import UserError
from tongues.models import find_shape
from tongues.models.embeddings import calibrate, mean_rows
from tongues.models.huggingface import build_model, configure
from tongues.models.token_map import TokenMap, map_tokens, resize_vocabulary

GREEK = "και ο λόγος ην προς τον θεόν και θεός ην ο λόγος " * 9
ENGLISH = "in the beginning was the word and the word was with god " * 9


def rows(model: PreTrainedModel) -> tuple[torch.Tensor, torch.Tensor]:
    """The input and the output matrix."""
    embedding, head = model.get_input_embeddings(), model.get_output_embeddings()
    assert head is not None
    return embedding.get_parameter("weight").detach(), head.get_parameter("weight").detach()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tokenizer, Tokenizer]:
    """A parent that spells Greek byte by byte, and its extension by 30 pieces."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=310, special_tokens=["<|end|>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([ENGLISH, GREEK], trainer)
    folder = tmp_path_factory.mktemp("pair")
    tokenizer.save(str(folder / "tokenizer.json"))
    return shortened(folder / "tokenizer.json", 30, folder / "parent.json"), tokenizer


@pytest.fixture(scope="module")
def tokens(pair: tuple[Tokenizer, Tokenizer]) -> TokenMap:
    return map_tokens(*pair)


def model_of(vocabulary: int, tied: bool = False) -> PreTrainedModel:
    return build_model(find_shape("0.05M"), vocabulary, 16, tied_embeddings=tied, seed=1)


def test_the_parts_of_a_new_token_spell_it(
    pair: tuple[Tokenizer, Tokenizer], tokens: TokenMap
) -> None:
    base, tokenizer = pair
    assert (tokens.base_size, tokens.size, tokens.extends) == (280, 310, True)
    assert list(tokens.parts) == list(tokens.missing) == list(range(280, 310))
    for number, parts in tokens.parts.items():
        spelt = "".join(base.id_to_token(part) or "" for part in parts)
        assert spelt == tokenizer.id_to_token(number)
        text = tokenizer.decode([number])
        if "\ufffd" not in text:
            assert parts == base.encode(text).ids


@pytest.mark.parametrize("tied", [False, True])
def test_known_rows_stay_and_all_others_are_the_mean_at_first(tokens: TokenMap, tied: bool) -> None:
    model = model_of(280, tied)
    before = [matrix.clone() for matrix in rows(model)]
    returned = resize_vocabulary(model, tokens)
    assert model.config.vocab_size == 320  # a multiple of 64
    assert len(returned) == (1 if tied else 2)
    assert (rows(model)[0].data_ptr() == rows(model)[1].data_ptr()) == tied
    for old, new in zip(before, rows(model), strict=True):
        assert torch.equal(new[:280], old)
        torch.testing.assert_close(new[280:], old.mean(0).expand(40, -1))
    for old, kept in zip(before, returned, strict=False):
        assert torch.equal(old, kept)


def test_rows_that_pad_never_get_a_share_of_the_probability(tokens: TokenMap) -> None:
    model = model_of(280)
    with torch.no_grad():
        rows(model)[1].normal_(std=1.0, generator=torch.Generator().manual_seed(2))
        rows(model)[0].normal_(std=1.0, generator=torch.Generator().manual_seed(3))
    resize_vocabulary(model, tokens)
    with torch.no_grad():
        logits = model(torch.arange(280).reshape(20, 14)).logits.softmax(-1)
    assert float(logits[..., 310:].sum(-1).mean()) < 10 / 320 / 10  # a tenth of an even share


def test_by_mean_a_new_row_is_the_mean_of_its_parts(tokens: TokenMap) -> None:
    model = model_of(280)
    before = [matrix.clone() for matrix in rows(model)]
    for old, new in zip(before, mean_rows(tokens, resize_vocabulary(model, tokens)), strict=True):
        for row, parts in zip(new, tokens.parts.values(), strict=True):
            torch.testing.assert_close(row, old[parts].mean(0))


def test_rows_that_pad_the_matrix_of_the_base_are_used(tokens: TokenMap) -> None:
    model = model_of(384)
    old = rows(model)[0].clone()
    resize_vocabulary(model, tokens)
    new = rows(model)[0]
    assert torch.equal(new[:280], old[:280])
    assert torch.equal(new[310:], old[310:])


def test_output_rows_are_moved_until_known_text_keeps_its_probability() -> None:
    chance = torch.Generator().manual_seed(1)
    matrix, hidden = torch.randn(200, 16, generator=chance), torch.randn(50, 16, generator=chance)
    loud, quiet = 3 * torch.randn(40, 16, generator=chance), matrix.mean(0).expand(40, -1) - 1e-3
    for new, moves in ((loud, True), (quiet, False)):
        found, cost = calibrate(new, matrix, hidden, 0.2)
        loss = (hidden @ torch.cat([matrix, found]).T).logsumexp(1) - (hidden @ matrix.T).logsumexp(
            1
        )
        assert float(loss.mean()) == pytest.approx(cost, rel=1e-4)
        assert cost <= 0.2
        assert torch.equal(found, new) != moves
        assert not moves or cost == pytest.approx(0.2, rel=1e-2)


def test_an_added_token_is_spelt_as_the_text_it_is(pair: tuple[Tokenizer, Tokenizer]) -> None:
    base, tokenizer = pair
    extended = Tokenizer.from_str(tokenizer.to_str())
    extended.add_special_tokens([AddedToken("<|word and god|>", special=True)])
    assert map_tokens(base, extended).parts[310] == base.encode("<|word and god|>").ids


def test_a_tokenizer_that_moves_or_drops_an_id_is_no_extension(
    pair: tuple[Tokenizer, Tokenizer],
) -> None:
    base, tokenizer = pair
    assert not map_tokens(tokenizer, base).extends
    moved = Tokenizer.from_str(base.to_str().replace('"<|end|>":0', '"<|end|>":999'))
    assert not map_tokens(moved, tokenizer).extends


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
