from itertools import pairwise
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from tests.models.families import tiny
from tongues.core.errors import UserError
from tongues.models import (
    SHAPES,
    SMALL,
    TABLE,
    Shape,
    find_shape,
    of_shape,
    scorer,
)
from tongues.models.huggingface import build_model, load_model, save_model
from tongues.models.scorer import batch_scorer, chunked_logits, log_probs, probed_scorer
from tongues.models.smollm2 import CARD
from tongues.train.metadata import languages_of, licence_of


def test_the_table_has_its_42_rows_and_its_one_flaw_is_told() -> None:
    assert len(TABLE) == 42
    assert [name for name, shape in TABLE.items() if shape.note] == ["4016M"]
    assert all(shape.heads * shape.head_width == shape.hidden for shape in TABLE.values())


@pytest.mark.parametrize("shape", SHAPES.values(), ids=lambda shape: shape.name)
def test_feed_forward_widths_follow_one_rule(shape: Shape) -> None:
    unit = min(512, shape.hidden)
    assert shape.feed_forward == unit * (16 * shape.hidden // (3 * unit) + 1)


def test_small_shapes_double_up_to_twenty_million() -> None:
    sizes = [of_shape(shape, 1024).parameters["non_embedding"] for shape in SMALL.values()]
    assert 0.04e6 < sizes[0] < 0.05e6
    assert 0.09e6 < sizes[1] < 0.11e6
    assert sizes[-1] > 20e6
    assert all(1.2 < b / a < 2.5 for a, b in pairwise(sizes))


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", ["0.1M", "1.4M", "49M", "1393M", "5534M"])
def test_counted_parameters_are_those_of_the_hugging_face_model(name: str, tied: bool) -> None:
    shape = find_shape(name)
    with torch.device("meta"):
        config = LlamaConfig(
            vocab_size=1000,
            hidden_size=shape.hidden,
            intermediate_size=shape.feed_forward,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            head_dim=shape.head_width,
            tie_word_embeddings=tied,
        )
        model = LlamaForCausalLM(config)
    counted = of_shape(shape, 1000, tied).parameters
    assert counted["total"] == model.num_parameters()
    assert counted["non_embedding"] == counted["total"] - counted["embedding"]


@pytest.mark.parametrize("tied", [False, True])
def test_a_model_written_and_read_gives_the_same_logits_to_the_last_bit(
    tmp_path: Path, tied: bool
) -> None:
    model = build_model(find_shape("0.2M"), 300, 32, tied_embeddings=tied, seed=1)
    save_model(model, tmp_path)
    tokens = torch.randint(0, 300, (3, 32))
    with torch.no_grad():
        expected = model(input_ids=tokens).logits
        for again in (load_model(tmp_path), AutoModelForCausalLM.from_pretrained(tmp_path)):
            assert torch.equal(again(input_ids=tokens).logits, expected)


def test_weights_are_a_function_of_the_seed() -> None:
    shape = find_shape("0.1M")
    torch.manual_seed(0)
    one, same, other = (build_model(shape, 300, 32, seed=seed) for seed in (1, 1, 2))
    for a, b, c in zip(one.parameters(), same.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
        assert a.ndim < 2 or not torch.equal(a, c)


def test_an_unknown_shape_or_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no shape") as caught:
        find_shape("0.2m")
    assert "`0.2M`" in caught.value.hint
    with pytest.raises(UserError, match="no Hugging Face model"):
        load_model(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama"')
    with pytest.raises(UserError, match="cannot be loaded"):
        load_model(tmp_path)


def test_a_log_probability_is_a_log_softmax_in_float32() -> None:
    logits = torch.randn(3, 5, 40, dtype=torch.bfloat16) * 8
    targets = torch.randint(40, (3, 5))
    scores, normalizer = log_probs(logits, targets)
    expected = logits.double().log_softmax(-1).gather(-1, targets[..., None])[..., 0]
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores.double(), expected, atol=3e-6, rtol=0)
    torch.testing.assert_close(normalizer.double(), logits.double().logsumexp(-1))


@pytest.mark.parametrize("biased", [False, True])
def test_chunks_are_parts_of_the_whole_product(biased: bool) -> None:
    hidden, weight = torch.randn(10, 4), torch.randn(7, 4)
    bias = torch.randn(7) if biased else None
    parts = list(chunked_logits(hidden, weight, bias, 3 * 7))
    assert [len(logits) for _, logits in parts] == [3, 3, 3, 1]
    whole = torch.nn.functional.linear(hidden, weight, bias)
    torch.testing.assert_close(torch.cat([logits for _, logits in parts]), whole)
    with torch.autocast("cpu", torch.bfloat16):
        for part, logits in chunked_logits(hidden, weight, bias, 21):
            assert logits.dtype == torch.float32
            torch.testing.assert_close(logits, whole[part], atol=0.2, rtol=0.02)


@pytest.mark.parametrize(("family", "headed"), [("llama", True), ("phi", True), ("gemma2", False)])
def test_a_batch_is_scored_as_the_model_does_by_any_way(
    family: str, headed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny(family, 60)
    tokens = torch.randint(model.config.vocab_size, (3, 13))
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    mask = torch.arange(12) >= torch.tensor([[0], [5], [8]])
    with torch.inference_mode():
        logs = model(inputs).logits.float().log_softmax(-1)
        expected = logs.gather(-1, targets[..., None])[..., 0]
        likeliest = logs.argmax(-1) == targets
        probed = probed_scorer(model, tokens[0].numpy())
        assert (probed.head is not None) == headed
        monkeypatch.setattr(scorer, "_CHUNK", 200)
        monkeypatch.setattr(scorer, "_CPU", (40, 5 * probed.vocabulary, 20_000))
        plain = batch_scorer(model)  # holds the logits of five tokens at a time
        assert plain.fits(5, 12, 1) and plain.fits(1, 12, 5) and not plain.fits(2, 12, 3)
        for way in (probed, plain):
            scores, best = way.score(inputs, targets, mask)
            torch.testing.assert_close(scores[mask], expected[mask], atol=1e-4, rtol=0)
            assert (best[mask] == likeliest[mask]).all()


def test_its_card_says_licence_and_language(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(CARD)
    assert (licence_of(str(tmp_path)).licence, languages_of(tmp_path)) == ("apache-2.0", ("en",))
