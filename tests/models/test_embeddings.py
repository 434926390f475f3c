from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedModel

from tests.models.shortened import shortened
from tongues.models import find_shape
from tongues.models.embeddings import (
    MissingTokens,
    initialize_embeddings,
    missing_tokens,
    similar_tokens,
)
from tongues.models.huggingface import build_model

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
def pieces(pair: tuple[Tokenizer, Tokenizer]) -> MissingTokens:
    found = missing_tokens(*pair)
    assert found is not None
    return found


def model_of(vocabulary: int, tied: bool = False) -> PreTrainedModel:
    return build_model(find_shape("0.05M"), vocabulary, 16, tied_embeddings=tied, seed=1)


def test_the_parts_of_a_new_piece_spell_it(
    pair: tuple[Tokenizer, Tokenizer], pieces: MissingTokens
) -> None:
    parent, tokenizer = pair
    assert (pieces.known, pieces.size) == (280, 310)
    assert list(pieces.spellings) == list(range(280, 310))
    for number, parts in pieces.spellings.items():
        spelt = "".join(parent.id_to_token(part) or "" for part in parts)
        assert spelt == tokenizer.id_to_token(number)
        text = tokenizer.decode([number])
        if "\ufffd" not in text:
            assert parts == parent.encode(text).ids


@pytest.mark.parametrize("tied", [False, True])
def test_by_mean_a_new_row_is_the_mean_of_its_parts(pieces: MissingTokens, tied: bool) -> None:
    model = model_of(280, tied)
    before = [matrix.clone() for matrix in rows(model)]
    initialize_embeddings(model, pieces, "mean")
    assert model.config.vocab_size == 310
    assert (rows(model)[0].data_ptr() == rows(model)[1].data_ptr()) == tied
    for old, new in zip(before, rows(model), strict=True):
        assert torch.equal(new[:280], old)
        for number, parts in pieces.spellings.items():
            torch.testing.assert_close(new[number], old[parts].mean(0))


def test_plain_rows_have_the_mean_and_spread_of_the_old(pieces: MissingTokens) -> None:
    model = model_of(280)
    with torch.no_grad():
        rows(model)[0].mul_(torch.linspace(1, 9, 32)).add_(1)
    many = MissingTokens(280, 4280, {number: [1] for number in range(280, 4280)})
    initialize_embeddings(model, many, "plain", seed=1)
    old, new = rows(model)[0][:280], rows(model)[0][280:]
    torch.testing.assert_close(new.std(0), old.std(0), rtol=0.1, atol=0)
    assert float(((new.mean(0) - old.mean(0)) / old.std(0)).abs().max()) < 0.1
    same, other = model_of(280), model_of(280)
    initialize_embeddings(same, pieces, "plain", seed=1)
    initialize_embeddings(other, pieces, "plain", seed=2)
    assert not torch.equal(rows(same)[0], rows(other)[0])


def twins(count: int) -> np.ndarray:
    """Tokens in which 20 and 21 stand where 4 and 5 do, beside noise."""
    rng = np.random.default_rng(1)
    words = rng.choice([4, 5, 6, 7, 8], count)
    before = {4: 10, 5: 11, 6: 12, 7: 13, 8: 14}
    spoken = np.where(rng.random(count) < 0.5, words + 16, words)
    text = np.stack([np.vectorize(before.get)(words), spoken, words + 5], axis=1)
    return text[spoken < 22].ravel()


def test_similar_pieces_are_those_in_the_same_company() -> None:
    pieces = MissingTokens(20, 23, {20: [1], 21: [2], 22: [3]})
    found = similar_tokens(pieces, [twins(3000)])
    assert set(found) == {20, 21}  # 22 never occurs
    for number, twin in ((20, 4), (21, 5)):
        weights = dict(zip(*found[number], strict=True))
        assert sum(weights.values()) == pytest.approx(1)
        assert max(weights, key=weights.__getitem__) == twin
    model = model_of(20)
    old = rows(model)[0].clone()
    initialize_embeddings(model, pieces, "similar", [twins(3000)])
    new = rows(model)[0]
    blend = sum(weight * old[number] for number, weight in zip(*found[20], strict=True))
    torch.testing.assert_close(new[20], blend)
    torch.testing.assert_close(new[22], old[3])  # too rare: the mean of its parts


def test_rows_that_pad_the_parents_matrix_are_used(pieces: MissingTokens) -> None:
    model = model_of(384)
    old = rows(model)[0].clone()
    initialize_embeddings(model, pieces, "mean")
    new = rows(model)[0]
    assert torch.equal(new[:280], old[:280])
    assert torch.equal(new[310:], old[310:])
    torch.testing.assert_close(new[300], old[pieces.spellings[300]].mean(0))


def test_an_added_token_is_spelt_as_the_text_it_is(pair: tuple[Tokenizer, Tokenizer]) -> None:
    parent, tokenizer = pair
    extended = Tokenizer.from_str(tokenizer.to_str())
    extended.add_special_tokens([AddedToken("<|word and god|>", special=True)])
    pieces = missing_tokens(parent, extended)
    assert pieces is not None
    assert pieces.spellings[310] == parent.encode("<|word and god|>").ids


def test_a_tokenizer_that_moves_an_id_is_no_extension(
    pair: tuple[Tokenizer, Tokenizer], tmp_path: Path
) -> None:
    parent, tokenizer = pair
    assert missing_tokens(tokenizer, parent) is None
    moved = parent.to_str().replace('"<|end|>":0', '"<|end|>":999')
    assert missing_tokens(Tokenizer.from_str(moved), tokenizer) is None
