"""Experts from text to ensemble and on, through the verbs, on a small made family."""

import json
import math
import os
import random
import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from shutil import copy
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from safetensors.torch import load_file

from tests.experts.ensemble.making import score
from tests.golden import INPUTS, inputs
from tongues.core.errors import UserError
from tongues.core.files import file_hash
from tongues.evaluate.evaluation import Evaluation, TextScores, read_evaluation
from tongues.evaluate.experts import evaluate_experts
from tongues.experts.ensemble.ensemble import open_ensemble
from tongues.experts.ensemble.router import load_router
from tongues.experts.ensemble.routing import parse_routing
from tongues.experts.heldout import documents_of, scored_documents
from tongues.models.folders import stored_shapes
from tongues.text.tokens import load_tokenizer, open_tokens
from tongues.text.tokens.tokenizer import train_tokenizer
from tongues.verbs.main import command

LANGS = ("qaa", "qab", "qac", "qad")
RECIPE = (INPUTS / "four-languages-recipe.yaml").read_text()
TRAIN = "threads: 1, batch: 512 tokens, context: 32 tokens, learning_rate: 5.0e-3, num_evals: 1"
SEED = (
    "model: {shape: 0.05M}\n"
    "train: {run: seed, mixture: {qaa: 25%, qab: 25%, qac: 25%, qad: 25%}, "
    f"budget: 10k tokens, {TRAIN}}}\n"
)
EXPERTS = (
    f"train: {{base: seed, budget: 10k tokens, {TRAIN}}}\n"
    "experts: {partitions: [{by: dense}, {by: typology, k: 2}, {by: topics, k: 2}]}\n"
)
MORE = (
    RECIPE.replace("fam", "more")
    .replace("tokens:", "      qae: {parent: qad, divergence: 0.2}\ntokens:")
    .replace("vocab_size: 300", "base: tokens/fam/tokenizer.json")
    + f"train: {{budget: 10k tokens, {TRAIN}}}\n"
    + "experts: {add_to: fam/typology-2-s1, add: {qae: transfer}}\n"
)


def tongues(folder: Path, *arguments: str, fails: bool = False) -> str:
    """Run a verb here; what it prints, or the mistake that it tells."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        done = CliRunner().invoke(command, arguments)
    finally:
        os.chdir(before)
    if fails:
        assert isinstance(done.exception, UserError)
        return str(done.exception)
    assert done.exception is None, done.exception
    return done.stdout


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a seed and three ensembles."""
    folder = tmp_path_factory.mktemp("family")
    (folder / "seed.yaml").write_text(RECIPE + SEED)
    (folder / "experts.yaml").write_text(RECIPE + EXPERTS)
    (folder / "more.yaml").write_text(MORE)
    tongues(folder, "prepare", "seed.yaml")
    tongues(folder, "train", "seed.yaml")
    tongues(folder, "experts", "train", "experts.yaml")
    return folder


def copied(family: Path, folder: Path) -> Path:
    return shutil.copytree(family, folder / "copy")


def scored(
    folder: Path, tokens: str, ensembles: dict[str, str], place: str = "some"
) -> tuple[Evaluation, TextScores]:
    """An evaluation of some ensembles, by partition, and its losses."""
    folders = {label: [folder / "ensembles" / name] for label, name in ensembles.items()}
    kept = folder / "evaluations" / place
    evaluation = evaluate_experts(folders, tokens, folder, kept, scored=300, context=32)
    return evaluation, evaluation.texts[tokens]


def lineage(folder: Path, name: str) -> dict:
    return json.loads((folder / "ensembles" / name / "ensemble.json").read_text())


@pytest.fixture(scope="module")
def losses(family: Path) -> TextScores:
    """Of the ensemble by typology, by all routings."""
    return scored(family, "fam", {"typology-2": "fam/typology-2-s1"}, "once")[1]


def test_ensembles_know_their_experts_languages_and_seed(family: Path) -> None:
    made = lineage(family, "fam/typology-2-s1")
    assert [list(expert["languages"]) for expert in made["experts"]] == [
        ["qaa", "qab"],
        ["qac", "qad"],
    ]
    assert made["base"] == "seed"
    assert sum(expert["tokens"] for expert in made["experts"]) == pytest.approx(10_000, rel=0.05)
    topics = lineage(family, "fam/topics-2-s1")["experts"]
    shares = [sum(expert["languages"].get(lang, 0) for expert in topics) for lang in ("qaa", "qad")]
    assert shares == pytest.approx([1.0, 1.0])
    owners = {  # a centre for each language, or one for a topic
        name: load_router(family / "ensembles/fam" / name / "router.safetensors").owners.tolist()
        for name in ("typology-2-s1", "topics-2-s1")
    }
    assert owners == {"typology-2-s1": [0, 0, 1, 1], "topics-2-s1": [0, 1]}


def test_what_is_lost_is_made_again_and_what_is_changed_is_refused_by_name(
    family: Path, tmp_path: Path
) -> None:
    folder = copied(family, tmp_path)
    ensemble = folder / "ensembles/fam/typology-2-s1"
    router, file = ensemble / "router.safetensors", ensemble / "ensemble.json"
    (clusters,) = folder.glob("tokens/fam/clusters/topics-2-*")
    files = [router, *clusters.rglob("*.bin")]
    whole = {each: each.read_bytes() for each in files}
    router.unlink()
    shutil.rmtree(clusters)
    said = tongues(folder, "generate", "fam/typology-2-s1", "--max-tokens", "2", fails=True)
    assert "the router is gone" in said
    for verb in ("partition", "train"):
        tongues(folder, "experts", verb, "experts.yaml")
    assert {each: each.read_bytes() for each in files} == whole
    before = file.stat().st_mtime_ns
    tongues(folder, "experts", "train", "experts.yaml")
    assert file.stat().st_mtime_ns == before
    (folder / "over.yaml").write_text(MORE.replace("name: more", "name: fam"))
    said = tongues(folder, "check", "over.yaml", fails=True)
    assert "would be overwritten" in said
    weights = folder / "runs/fam/typology-2-e1-s1/model/model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(bytes(data))
    for again in (("experts", "show", "fam/typology-2-s1"), ("experts", "train", "experts.yaml")):
        said = tongues(folder, *again, fails=True)
        assert "`fam/typology-2-e1-s1` is not what it was" in said
    tokenizer = folder / "runs/fam/topics-2-e0-s1/model/tokenizer.json"
    tokenizer.write_text(
        tokenizer.read_text().replace('"add_prefix_space":', ' "add_prefix_space":')
    )
    said = tongues(folder, "experts", "show", "fam/topics-2-s1", fails=True)
    assert "tokenizer" in said


def test_a_language_is_added_and_no_other_expert_changes(family: Path) -> None:
    tongues(family, "prepare", "more.yaml")
    tongues(family, "experts", "train", "more.yaml")
    before, after = lineage(family, "fam/typology-2-s1"), lineage(family, "more/added-s1")
    assert after["experts"][:2] == before["experts"]
    earlier, later = (
        load_router(family / "ensembles" / name / "router.safetensors")
        for name in ("fam/typology-2-s1", "more/added-s1")
    )
    assert later.owners.tolist() == [0, 0, 1, 1, 2]
    known = later.centres[:4, : earlier.centres.shape[1]]
    np.testing.assert_array_equal(known, earlier.centres)
    new = after["experts"][2]
    assert new["languages"] == {"qad": 1.0, "qae": 1.0}
    assert new["parent"] == "fam/typology-2-e1-s1"
    assert after["languages"] == before["languages"] | {"qae": new["name"]}
    assert [added["ensemble"] for added in after["rounds"]][-1] == "more/added-s1"
    tongues(family, "experts", "show", "more/added-s1")
    folders = {"before": "fam/typology-2-s1", "added": "more/added-s1"}
    evaluation, text = scored(family, "more", folders)
    (mean,) = (one.mean for one in text.added if one.model == "added@tfidf")
    assert mean and (mean.n or 0) >= 6
    assert evaluation.experts and evaluation.experts.base_shares
    assert evaluation.experts.base_shares["qae"] == 0.0


def test_an_evaluation_is_of_every_partition_and_routing(family: Path) -> None:
    said = tongues(family, "experts", "measure", "experts.yaml", "--eval-tokens", "500")
    *table, _, page = said.strip().splitlines()
    assert (family / page).is_file()
    kept = family / "evaluations/fam-experts"
    evaluation = read_evaluation(kept)
    assert json.loads((kept / "scores.json").read_text()) == evaluation.to_json()
    (text,), models = evaluation.texts.values(), {model.name for model in evaluation.models}
    assert {"seed", "dense", "typology-2@tfidf", "topics-2@filter"} <= models
    costs = text.costs
    runs = {name: costs[f"typology-2@{name}"].experts_run for name in ("language", "tfidf")}
    assert runs == {"language": 1, "tfidf": 2}
    one, two = costs["typology-2@language"], costs["typology-2@tfidf"]
    assert one.memory == costs["seed"].memory == two.memory / 2
    told = evaluation.experts
    assert told
    (line,) = (row for row in table if row.split()[:2] == ["typology-2", "tfidf"])
    means = {
        name: fmean(of.nats_per_token for of in text.losses[name].values())
        for name in ("dense", "typology-2@tfidf")
    }
    assert f"{means['typology-2@tfidf']:.3f}" in line
    assert f"{means['typology-2@tfidf'] - means['dense']:.3f}".lstrip("-") in line
    assert told.base_shares == pytest.approx(dict.fromkeys(LANGS, 0.25), abs=0.01)
    assert len([cell for cell in told.cells if cell.partition == "typology-2"]) == 2 * 4


def test_other_text_may_be_of_languages_without_an_expert(
    family: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Greek, and two languages by turns."""
    held = open_tokens(family / "tokens/fam")
    tokenizer = load_tokenizer(held.tokenizer_path)
    parts = {lang: held.shard(lang, "valid").tokens[:400].tolist() for lang in ("qaa", "qac")}
    turns = [parts[lang][at : at + 20] for at in range(0, 120, 20) for lang in parts]
    texts = {"el": ["Ο ήλιος και η θάλασσα είναι εκεί όπου ήταν πάντα. " * 9] * 6}
    texts["mul"] = [tokenizer.decode([*chain(*turns)])] * 6
    texts["qaa"] = [tokenizer.decode(parts["qaa"][at : at + 60]) for at in range(0, 360, 60)]
    (family / "other").mkdir()
    for lang, documents in texts.items():
        lines = "".join(json.dumps({"text": text}) + "\n" for text in documents)
        (family / "other" / f"{lang}.jsonl").write_text(lines)
    (family / "other/tr.jsonl").write_text('{"text": "bir"}\n{"txet": 1}\n')
    monkeypatch.chdir(family)
    words = ["experts", "measure", "experts.yaml", "--text"]
    alone = CliRunner().invoke(command, [*words, "other/el.jsonl"])  # no expert knows any of it
    assert alone.exception is None
    done = CliRunner().invoke(command, [*words, "other"])
    assert done.exception is None and "tr.jsonl" in done.stderr
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line}
    assert rows["el"].endswith(" 100 %") and rows["qaa"].endswith(" 0.0 %")
    evaluation = read_evaluation(family / "evaluations/fam-experts-other")
    (text,) = evaluation.texts.values()
    assert set(text.losses["typology-2@filter:2"]) == {"el", "mul", "qaa", "tr"}
    assert set(text.losses["typology-2@language"]) == {"qaa"}
    base, read = (text.losses[name]["el"] for name in ("seed", "typology-2@filter:2"))
    assert read.nats_per_token == pytest.approx(base.nats_per_token, abs=0.2)


def test_every_expert_reads_every_document_once(
    family: Path, losses: TextScores, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tongues.evaluate import rows

    read: list[int] = []
    whole = rows.score_tokens

    def counted(model: Any, some: Sequence[rows.Row], *how: Any) -> Any:
        read.append(len(some))
        return whole(model, some, *how)

    monkeypatch.setattr(rows, "score_tokens", counted)
    folders = {"typology-2": "fam/typology-2-s1"}
    _, resumed = scored(family, "fam", folders, "once")
    assert not read and resumed == losses
    scored(family, "fam", folders, "counted")
    # the seed, two experts and the seed beside them, in four languages
    assert len(read) == (1 + 2 + 1) * 4


def test_losses_by_routing_are_those_of_scoring_each_document(
    family: Path, losses: TextScores
) -> None:
    """The values that a routing's losses had when each was computed by itself."""
    ensemble = open_ensemble(family / "ensembles/fam/typology-2-s1", family)
    ensemble = replace(ensemble, context=32)  # the windows of `scored`
    tokens = open_tokens(family / "tokens/fam")
    for lang in LANGS:
        shard = tokens.shard(lang, "valid")
        numbers = scored_documents(shard.bounds, 300)
        documents = documents_of(shard.tokens, shard.bounds, numbers)
        count = sum(map(len, documents))
        for way in ("language", "filter:2", "tfidf:1", "tfidf"):
            each = score(ensemble, documents, parse_routing(way), [lang] * len(documents))
            cost, loss = losses.costs[f"typology-2@{way}"], losses.losses[f"typology-2@{way}"][lang]
            nats = sum(float(one.nats.sum()) for one in each)
            assert (loss.documents, loss.tokens) == (len(documents), count)
            assert loss.nats_per_token == pytest.approx(nats / count, abs=1e-5)
            assert cost.experts_run == pytest.approx(1.0 if way == "language" else cost.experts_run)


def test_a_seed_of_another_tokenizer_reads_the_same_text(family: Path, tmp_path: Path) -> None:
    folder = copied(family, tmp_path)
    place, text = folder / "runs/seed/model/tokenizer.json", "the ban of a mal is an art " * 9
    first, same = scored(folder, "fam", {"dense": "fam/dense-s1"})
    other = train_tokenizer({"qaa": [text]}, {"qaa": 200}, 280).to_str()
    place.write_text(other)
    second, found = scored(folder, "fam", {"dense": "fam/dense-s1"})
    assert first.experts and second.experts
    assert first.experts.same_tokenizer and not second.experts.same_tokenizer
    for lang, of in found.losses["seed"].items():
        nats = of.bits_per_byte.value * of.bytes * math.log(2)
        assert of.tokens == same.losses["dense"][lang].tokens
        assert of.nats_per_token == pytest.approx(nats / of.tokens)
        assert of.nats_per_token != same.losses["seed"][lang].nats_per_token
    assert found.costs["seed"].experts_run > 1.1  # its own tokens are more
    assert found.losses["dense"] == same.losses["dense"]
    tokens = folder / "tokens/fam/tokens.json"
    manifest = json.loads(tokens.read_text())
    whole = tokens.with_name("tokenizer.json")
    whole.write_text(other)
    tokens.write_text(json.dumps(manifest | {"tokenizer_sha256": file_hash(whole)}))
    with pytest.raises(UserError, match="another tokenizer than the text"):
        scored(folder, "fam", {"dense": "fam/dense-s1"})


def test_the_experts_become_one_model_whose_router_alone_is_trained(
    family: Path, tmp_path: Path
) -> None:
    for name in ("typology", "topics"):
        out = str(tmp_path / name)
        tongues(family, "export", f"fam/{name}-2-s1", "--moe", "-o", out)
        assert "block_sparse_moe.gate" in str(stored_shapes(Path(out)).keys())
    card = (tmp_path / "typology/README.md").read_text()
    assert "2 experts in each layer, 2 a token" in card
    assert "| language | base | its expert | moe | change |" in card
    texts = tongues(family, "generate", out, "--max-tokens", "4", "--temperature", "0")
    assert texts.strip()
    trained = (
        f"train: {{run: routed, trainable: routers, base: {{model: {out}, "
        f"languages: [{', '.join(LANGS)}]}}, targets: [{', '.join(LANGS)}], "
        f"mixture: {{qaa: 25%, qab: 25%, qac: 25%, qad: 25%}}, budget: 5k tokens, {TRAIN}}}\n"
    )
    (family / "routed.yaml").write_text(RECIPE + trained)
    tongues(family, "train", "routed.yaml")
    before, after = (
        load_file(Path(place) / "model.safetensors")
        for place in (out, family / "runs/routed/model")
    )
    assert before.keys() == after.keys()
    changed = {name for name, weight in before.items() if not weight.equal(after[name])}
    assert changed == {name for name in before if name.endswith("block_sparse_moe.gate.weight")}


def test_experts_of_feed_forward_layers_alone_lose_nothing(family: Path, tmp_path: Path) -> None:
    train = f"train: {{base: seed, trainable: feed_forward, budget: 4k tokens, {TRAIN}}}\n"
    experts = "experts: {partitions: [{by: languages, name: ffn}]}\n"
    (family / "ffn.yaml").write_text(RECIPE + train + experts)
    tongues(family, "experts", "train", "ffn.yaml")
    tongues(family, "export", "fam/ffn-s1", "--moe", "-o", str(tmp_path / "moe"))
    assert "is the same in all experts, bit for bit" in (tmp_path / "moe/README.md").read_text()
    each = [load_file(family / f"runs/fam/ffn-e{n}-s1/model/model.safetensors") for n in range(4)]
    base = load_file(family / "runs/seed/model/model.safetensors")
    for name, weight in base.items():
        assert all(weight.equal(own[name]) for own in each) is (".mlp." not in name)


def test_a_changed_tokenizer_is_refused_at_once(family: Path, tmp_path: Path) -> None:
    folder = copied(family, tmp_path)
    extend = "extend: {new_tokens: 20, languages: [qae], preserve: [qaa, qab, qac, qad]}"
    extended = MORE.replace("name: more", "name: longer").replace(".json", f".json, {extend}")
    alone = extended[: extended.index("train:")]
    (folder / "longer.yaml").write_text(extended)
    (folder / "alone.yaml").write_text(alone)
    (folder / "upon.yaml").write_text(MORE.replace("tokens/fam", "tokens/longer"))
    said = [tongues(folder, "check", "longer.yaml", fails=True)]
    tongues(folder, "prepare", "alone.yaml")
    tongues(folder, "prepare", "upon.yaml", "--overwrite")
    said.append(tongues(folder, "experts", "train", "upon.yaml", fails=True))
    for error, name in zip(said, ("longer", "more"), strict=True):
        assert f"the text of `{name}` has another tokenizer than the ensemble" in error
        assert "`tokens.base: runs/fam/typology-2-e0-s1/model/tokenizer.json`" in error
    assert not (folder / "runs/more/qae-s1/checkpoints").exists()


EXAMPLES = Path(__file__).parents[2] / "docs/examples"
SMALL: list[str] = inputs("overrides")["small experts"]


def write_texts(folder: Path, lang: str, documents: int, length: int) -> None:
    """Documents of a language's own words; those of one number are of one group."""
    chance = random.Random(lang)
    words = ["".join(chance.choices("abdegiklmnorstu", k=5)) for _ in range(100)]
    (folder / "texts" / lang).mkdir(parents=True)
    with (folder / "texts" / lang / "all.jsonl").open("w") as file:
        for number in range(documents):
            text = " ".join(chance.choices(words, k=length))
            file.write(json.dumps({"text": text, "group": str(number)}) + "\n")


@pytest.mark.slow
def test_a_folder_of_texts_becomes_an_ensemble_and_a_language_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in EXAMPLES.glob("own*.yaml"):
        copy(file, tmp_path)
    for lang in ("de", "en", "hi", "sw"):
        write_texts(tmp_path, lang, 60, 80)

    def tongues(*words: str, small: Sequence[str] = ()) -> Result:
        return CliRunner().invoke(command, [*words, *small], catch_exceptions=False)

    own = (*SMALL, "tokens.vocab_size=300")
    tongues("prepare", "own.yaml", small=own)
    tongues("train", "own.yaml", "model.shape=0.05M", small=own)
    tongues("experts", "train", "own-experts.yaml", small=own)
    told = tongues("generate", "own/topics-2-s1", "Es war", "--max-tokens", "3", "--experts")
    assert told.stdout.startswith("Es war")
    write_texts(tmp_path, "nl", 120, 20)  # translates the others, in short
    tongues("prepare", "own-more.yaml", small=SMALL)
    added = tongues("experts", "train", "own-more.yaml", small=SMALL)
    assert "`sw` 1.08k of 2.14k." in added.stderr
    told = tongues("generate", "own-more/added-s1", "Er was", "--max-tokens", "3", "--experts")
    assert told.stdout.startswith("Er was")
    assert "own-more/added-s1" in tongues("ls").stdout
