import gzip
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers.pre_tokenizers import ByteLevel
from transformers import AutoModelForCausalLM

from tests.experts.ensemble.making import TEXT, score
from tests.models.families import tiny
from tests.records import make_run
from tests.text.corpora import write_rows
from tongues.core.errors import Caution, UserError
from tongues.core.files import read_json, write_json
from tongues.evaluate.documents import read_texts
from tongues.evaluate.losses import (
    Policy,
    Spelling,
    Window,
    bits_per_segment,
    resolved,
    spelling_cautions,
    windows,
)
from tongues.evaluate.tasks import ItemFault, count_faults
from tongues.evaluate.texts import routed_losses, token_nats
from tongues.experts.ensemble.lineage import Expert, Lineage
from tongues.experts.ensemble.model import Model, open_model
from tongues.runs.record import write_run
from tongues.text import Document
from tongues.text.tokens import load_tokenizer, open_tokens
from tongues.text.tokens.shards import shard_dtype, write_shard

WORDS = TEXT.split()


def documents(count: int = 5, words: int = 150, lang: str = "qab") -> list[Document]:
    chance = np.random.default_rng(len(lang))
    texts = [" ".join(chance.choice(WORDS, words // (1 + n))) for n in range(count)]
    return [Document(f"{lang}{n}", lang, text, f"g{n}", "here") for n, text in enumerate(texts)]


@pytest.fixture(scope="module")
def alone(house: Path) -> Model:
    return open_model(str(house / "models/e1"), house)


def test_losses_are_those_of_hugging_faces_sliding_windows(alone: Model) -> None:
    """The loop of its page on perplexity, with windows of 64 tokens, by the model's own loss."""
    model = AutoModelForCausalLM.from_pretrained(alone.ensemble.tokenizer)
    found = routed_losses([alone], documents(), Policy(63))[0]
    for place, document in enumerate(documents()):
        ids = torch.tensor([[alone.first, *alone.encode(document.text).tolist()]])
        nats, count, before = 0.0, 0, 0
        for begin in range(0, ids.shape[1], 63):
            end = min(begin + 64, ids.shape[1])
            inputs, target = ids[:, begin:end], ids[:, begin:end].clone()
            target[:, : before - end] = -100 if before else target[:, : before - end]
            scored = int((target[:, 1:] != -100).sum())
            with torch.no_grad():
                nats += model(inputs, labels=target).loss.item() * scored
            count, before = count + scored, end
            if end == ids.shape[1]:
                break
        assert found.tokens[place] == count
        assert math.exp(found.nats[place] / count) == pytest.approx(
            math.exp(nats / count), rel=1e-5
        )
        assert found.bytes[place] == len(document.text.encode())


@pytest.mark.parametrize("way", ["tfidf", "tfidf:1", "language", "filter:1"])
def test_experts_count_as_the_whole_document_has_it(house: Path, way: str) -> None:
    subject = open_model(f"small/small@{way}", house)
    tokens = [subject.encode(document.text) for document in documents()]
    found = routed_losses([subject], documents())[0]
    expected = score(subject.ensemble, tokens, subject.routing, ["qab"] * len(tokens))
    np.testing.assert_allclose(found.nats, [one.nats.sum() for one in expected], rtol=1e-6)


def test_every_token_and_every_byte_counts(house: Path) -> None:
    subject = open_model(str(house / "hub"), house)
    texts = ["the ban of the ban", "é", "", "ё the"]
    some = [Document(str(n), "qaa", text, str(n), "here") for n, text in enumerate(texts)]
    found = routed_losses([subject], some)[0]
    assert found.tokens.tolist() == [len(subject.encode(text)) for text in texts]
    assert found.bytes.tolist() == [18, 2, 0, 6]
    assert found.nats[2] == 0
    (nats,) = token_nats(subject, [subject.encode(texts[0])])
    ids = torch.tensor([[subject.first, *subject.encode(texts[0])]])
    with torch.no_grad():
        logs = tiny("gpt-neox", 300)(ids[:, :-1]).logits[0].log_softmax(1)
    np.testing.assert_allclose(nats, -logs.gather(1, ids[0, 1:, None])[:, 0].numpy(), atol=1e-5)


def test_segments_that_all_languages_have_are_compared(alone: Model) -> None:
    one, other = documents(5), documents(4, lang="qa")
    losses = {"qab": routed_losses([alone], one)[0], "qa": routed_losses([alone], other[1:])[0]}
    count, bits = bits_per_segment(losses)
    assert count == 3
    assert bits["qab"] == pytest.approx(losses["qab"].nats[1:4].sum() / 3 / math.log(2))
    assert bits["qa"] == pytest.approx(losses["qa"].nats.sum() / 3 / math.log(2))
    assert bits_per_segment({"qab": losses["qab"]}) == (0, {})


def test_a_script_that_the_tokenizer_lacks_is_told(alone: Model) -> None:
    latin = Tokenizer(
        models.BPE({"?": 0, **{c: n + 1 for n, c in enumerate("abcdehnorst ")}}, [], unk_token="?")
    )
    latin.pre_tokenizer = pre_tokenizers.Whitespace()
    poor = replace(alone, tokenizer=latin)
    said = enumerate(("тот the тот", "that"))
    text = [Document(str(n), "ru", each, str(n), "here") for n, each in said]
    (caution,) = spelling_cautions("ru", routed_losses([poor], text)[0])
    assert caution.code == "script_missing"
    assert "(in 1 of 2 documents)" in caution.sentence
    spelt = [Document("1", "ru", "тот самый тот", "1", "here")]
    (caution,) = spelling_cautions("ru", routed_losses([alone], spelt)[0])
    assert caution.code == "spelt_out"
    assert not spelling_cautions("qab", routed_losses([alone], documents())[0])


def test_dropped_marks_and_capitals_are_lost(alone: Model) -> None:
    text = "हिन्दी Xin chào"
    pieces = sorted(ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({piece: n for n, piece in enumerate(pieces)}, []))
    tokenizer.pre_tokenizer, tokenizer.decoder = ByteLevel(False), decoders.ByteLevel()
    assert Spelling(tokenizer).lost(text) == 0
    steps = [normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()]
    tokenizer.normalizer = normalizers.Sequence(steps)
    spelling = Spelling(tokenizer)
    assert spelling.missing(text) == 0
    assert spelling.lost(text) == pytest.approx(5 / 13)  # three vowel signs, X and à
    document = Document("1", "hi", text, "1", "here")
    (losses,) = routed_losses([replace(alone, tokenizer=tokenizer)], [document])
    (caution,) = spelling_cautions("hi", losses)
    assert caution.code == "script_missing"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "texts"
    place.mkdir()
    german = [{"text": f"Satz {n}", "id": f"d{n}", "group": f"{n}"} for n in range(3)]
    write_rows(place / "de.jsonl", german)
    rows = "".join(json.dumps({"text": f"phrase {n}", "group": n}) + "\n" for n in range(2))
    with gzip.open(place / "fr.jsonl.gz", "wt") as file:
        file.write(rows + "half a line")
    (place / "qu.txt").write_text("one\nblock\n\nanother\n")
    (place / "README.txt").write_text("what this is")
    return place


def test_a_folder_has_files_named_for_languages(folder: Path, tmp_path: Path) -> None:
    reasons: list[str] = []
    found = read_texts(str(folder), tmp_path, fault=lambda one: reasons.append(one.reason))
    assert {lang: [one.text for one in own] for lang, own in found.items()} == {
        "de": ["Satz 0", "Satz 1", "Satz 2"],
        "fr": ["phrase 0", "phrase 1"],
        "qu": ["one\nblock", "another"],
    }
    assert [one.id for one in found["de"]] == ["d0", "d1", "d2"]
    assert [one.group for one in found["fr"]] == ["0", "1"]
    assert len({one.group for one in found["qu"]}) == 2  # a group for each block
    assert reasons == ["cut off"]


def test_files_of_other_names_are_named_and_codes_with_scripts_are_tags(tmp_path: Path) -> None:
    names = ("eng_Latn", "zho_Hans", "zho_Hant", "srp_Latn", "de", "swahili", "dev", "README")
    for name in names:
        write_rows(tmp_path / f"{name}.jsonl", [{"text": f"of {name}"}])
    said: list[str] = []
    found = read_texts(str(tmp_path), tmp_path / "none", say=said.append)
    assert {lang: own[0].text for lang, own in found.items()} == {
        "de": "of de",
        "en": "of eng_Latn",
        "sr-Latn": "of srp_Latn",
        "zh": "of zho_Hans",
        "zh-Hant": "of zho_Hant",
    }
    assert "eng_Latn.jsonl is read as `en`" in said
    assert "language: dev.jsonl, swahili.jsonl" in said[-1]
    with pytest.raises(UserError, match="no file is named for a language"):
        read_texts(str(tmp_path / "dev.jsonl"), tmp_path / "none")


def test_languages_and_an_amount_can_be_asked_for(folder: Path, tmp_path: Path) -> None:
    found = read_texts(str(folder), tmp_path, languages=["fr", "de"], limit=1)
    assert {lang: len(own) for lang, own in found.items()} == {"fr": 1, "de": 1}
    assert list(read_texts(str(folder / "de.jsonl"), tmp_path)) == ["de"]


def test_a_folder_may_be_named_for_the_language_of_its_files(tmp_path: Path) -> None:
    for lang in ("sw", "en"):
        (tmp_path / lang).mkdir()
        write_rows(tmp_path / lang / "bible.jsonl", [{"text": f"of {lang}"}])
        write_rows(tmp_path / lang / "mdn.jsonl", [{"text": f"web of {lang}"}])  # no Mbati
    (tmp_path / "mdn").mkdir()
    write_rows(tmp_path / "mdn/fr.jsonl", [{"text": "of fr"}])
    write_rows(tmp_path / "en/yo.jsonl", [{"text": "of yo"}])
    found = read_texts(str(tmp_path), tmp_path / "none")
    texts = {lang: sorted(one.text for one in own) for lang, own in found.items()}
    own = {lang: [f"of {lang}", f"web of {lang}"] for lang in ("sw", "en")}
    assert texts == own | {x: [f"of {x}"] for x in ("fr", "yo")}


def test_what_is_not_there_is_told(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="named for a language"):
        read_texts(str(folder / "README.txt"), tmp_path)
    write_rows(folder / "it.jsonl", [{"text": " "}])
    with pytest.raises(UserError, match=r"no document of `it`\n  empty"):
        read_texts(str(folder), tmp_path, languages=["it"])


def test_a_limit_takes_documents_of_many_groups(tmp_path: Path) -> None:
    rows = [{"text": f"{n}", "group": str(n // 9)} for n in range(40)]
    (tmp_path / "de.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for limit, places in ((3, [0, 9, 18]), (7, [0, 1, 9, 10, 18, 27, 36]), (90, [*range(40)])):
        found = read_texts(str(tmp_path), tmp_path, limit=limit)["de"]
        assert [int(one.text) for one in found] == places


def test_of_prepared_tokens_the_half_is_read_that_nothing_was_tuned_on(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    found = read_texts("small", workspace)
    for folder in ("tokens/small", f"{workspace}/tokens/small"):
        assert read_texts(folder, workspace) == found
    tokens = open_tokens(workspace / "tokens/small")
    tokenizer = load_tokenizer(tokens.tokenizer_path)
    assert list(found) == ["qaa", "qab"]
    for lang, own in found.items():
        shard = tokens.shard(lang, "valid")
        assert len(own) == (len(shard.bounds) - 1) // 2
        for number, document in enumerate(own):
            ids = tokenizer.encode(document.text, add_special_tokens=False).ids
            stored = shard.tokens[shard.bounds[number] : shard.bounds[number + 1] - 1]
            np.testing.assert_array_equal(ids, stored)
    few = read_texts("small", workspace, limit=2)["qaa"]
    assert [one.id for one in few] == ["small/qaa/0", "small/qaa/1"]


def test_a_language_whose_held_out_text_was_trained_on_is_left_out(workspace: Path) -> None:
    tokens, before = open_tokens(workspace / "tokens/small"), workspace / "tokens/before"
    copytree(tokens.path.resolve(), before)
    train = tokens.shard("qaa", "train")  # of which some was held out before, and nothing else
    part, sizes = train.tokens[: int(train.bounds[5])], np.diff(train.bounds)[:5]
    write_shard(before / "qaa/valid", [(part, sizes)], shard_dtype(tokens.vocabulary_size))
    manifest = read_json(before / "tokens.json") | {"fingerprint": "before"}
    manifest["languages"]["qaa"]["valid"] = {"documents": 5, "tokens": len(part)}
    write_json(before / "tokens.json", manifest)
    shares = {"qaa": 0.5, "qab": 0.5}
    write_run(workspace / "runs/base", make_run(tokens_fingerprint="before", shares=shares))
    lineages = [Lineage((Expert("base", "", {}, {}, None, "base", 0),), {}, "base", "", None, {})]
    faults: list[ItemFault] = []
    read = partial(read_texts, "small", workspace, lineages=lineages)
    assert list(read(fault=faults.append)) == ["qab"]
    (line,) = count_faults(faults)
    assert line == (
        "1 left out: text that the models were trained on "
        f"(first {tokens.path}, `qaa`: all that is held out now)"
    )
    with pytest.raises(UserError, match="trained on all text of `qaa` that is held out now"):
        read(languages=["qaa"])


def test_text_of_a_model_whose_tokens_were_prepared_again_is_doubted(workspace: Path) -> None:
    run = make_run(tokens_fingerprint="gone", shares={"qaa": 1.0})
    write_run(workspace / "runs/base", run)
    lineages = [Lineage((Expert("base", "", {}, {}, None, "base", 0),), {}, "base", "", None, {})]
    doubts: list[Caution] = []
    read = partial(read_texts, "small", workspace, lineages=lineages, caution=doubts.append)
    assert list(read()) == ["qaa", "qab"]
    (doubt,) = doubts
    assert doubt.code == "held_out_unknown" and "held out of `qaa` now" in doubt.sentence
    now = open_tokens(workspace / "tokens/small").fingerprint
    write_run(workspace / "runs/base", replace(run, tokens_fingerprint=now))
    doubts.clear()
    read()
    assert not doubts


COUNTS = st.integers(0, 200)
Seen = tuple[list[int], list[int]]  # what is read, what is predicted


def rolling(text: list[int], most: int, context: int) -> Iterator[Seen]:
    """As lm-eval 0.4.13 has it (`get_rolling_token_windows`), the first of `text` as its prefix."""
    prefix, tokens = text[0], text[1:]
    if not tokens:
        return
    step = most - context + 1
    done = min(most, len(tokens))
    yield [prefix, *tokens[: done - 1]], tokens[:done]
    while done < len(tokens):
        step = min(len(tokens) - done, step)
        end = done + step
        yield tokens[end - most - 1 : end - 1], tokens[end - step : end]
        done += step


def ours(policy: Policy, text: list[int]) -> list[Seen]:
    return [
        (text[one.begin : one.stop - 1], text[one.start : one.stop])
        for one in windows(policy, len(text))
    ]


@given(COUNTS, st.integers(1, 30), st.booleans())
def test_every_token_but_the_first_is_scored_once(count: int, window: int, back: bool) -> None:
    found = list(windows(Policy(window, back), count))
    scored = [place for one in found for place in range(one.start, one.stop)]
    assert scored == list(range(1, count))
    for one in found:
        assert one.stop - 1 - one.begin <= window
        assert one.begin < one.start


@given(st.integers(1, 200), st.integers(1, 30))
def test_windows_that_reach_back_are_the_rolling_ones(count: int, most: int) -> None:
    text = list(range(count))
    assert ours(Policy(most, back=True), text) == list(rolling(text, most, 1))


def test_a_policy_is_resolved_by_what_the_model_sees() -> None:
    assert resolved(Policy(), 128) == Policy(128)
    assert resolved(Policy(32, back=True), 128) == Policy(32, back=True)
    assert resolved(Policy(), None) == Policy()
    assert list(windows(Policy(), 5)) == [Window(0, 1, 5)]
    assert list(windows(Policy(2), 6)) == [Window(0, 1, 3), Window(2, 3, 5), Window(4, 5, 6)]
    with pytest.raises(UserError, match="longer than the context of the model "):
        resolved(Policy(129), 128)
