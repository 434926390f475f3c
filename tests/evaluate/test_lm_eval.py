"""Runs and ensembles as models of lm-eval, against the scorer here."""

import importlib
import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.evaluate.hub import hub_model
from tests.golden import inputs
from tests.models.families import save_tiny
from tongues.core.errors import UserError
from tongues.core.files import write_json
from tongues.evaluate.losses import Policy
from tongues.evaluate.rows import Row, score_rows
from tongues.evaluate.tasks import Task, correct, read_fewshot_task, read_items
from tongues.evaluate.tasks.score import fewshot_prefix, score_task
from tongues.evaluate.texts import token_nats
from tongues.experts.ensemble.model import Model, open_model
from tongues.use.export.moe import merge_to_moe

REASON = "lm-eval is not installed: pip install 'tongues[eval]'"
harness: Any = pytest.importorskip("lm_eval", reason=REASON)
adapter: Any = importlib.import_module("tongues.evaluate.lm_eval")
instance: Any = importlib.import_module("lm_eval.api.instance").Instance
logging.getLogger("lm_eval").setLevel(logging.ERROR)

WORDS = ("the ban of", "a mal is", "an art and", "so on we go", "to the end", "all that is")
TOY = Task("toy", "which words go on", "{said}", ("{one}", "{two}"), id="id")


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of items in qab, and one of demonstrations."""
    folder = tmp_path_factory.mktemp("items")
    (folder / "toy").mkdir()
    for name, begin, count in (("qab", 0, 10), ("shown", 3, 2)):
        rows = [
            {"said": WORDS[n % 6], "one": WORDS[(n + 1) % 6], "two": f"{WORDS[(n + 2) % 6]} art"}
            | {"label": n % 2, "id": str(n)}
            for n in range(begin, begin + count)
        ]
        (folder / f"toy/{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """lm-eval's look at the machine, which takes seconds, is left out."""
    monkeypatch.setattr("lm_eval.evaluator.add_env_info", lambda storage: None)


def evaluated(model: Any, items: Path, task: str) -> dict[str, Any]:
    """What lm-eval finds on the items behind two demonstrations."""
    rows = [json.loads(line) for line in (items / "toy/shown.jsonl").read_text().splitlines()]
    data = {"data_files": {"test": str(items / "toy/qab.jsonl")}, "cache_dir": str(items / "cache")}
    config = inputs("lm-eval-tasks")["toy_sw"] | {"task": task, "dataset_path": "json"}
    config |= {"dataset_kwargs": data, "test_split": "test", "num_fewshot": 2}
    config |= {"fewshot_config": {"sampler": "first_n", "samples": rows}}
    manager = importlib.import_module("lm_eval.tasks").TaskManager(include_defaults=False)
    return harness.simple_evaluate(
        model=model, tasks=[config], task_manager=manager, bootstrap_iters=0
    )


def request(*said: Any, task: str = "toy", doc: int = 0) -> Any:
    return instance("loglikelihood", {}, said, 0, (task, doc, 1))


def brute(subject: Model, context: str, continuation: str) -> tuple[float, bool]:
    """Sum and greed of one model, by its logits."""
    whole = [subject.first, *subject.encode(context + continuation).tolist()]
    start = 1 + len(subject.encode(context))
    with torch.no_grad():
        logits = subject.ensemble.models[0](input_ids=torch.tensor([whole])).logits[0, :-1]
    likely, gold = logits.log_softmax(1)[start - 1 :], torch.tensor(whole[start:])
    reached = likely.gather(1, gold[:, None])
    return float(reached.sum()), bool((likely.argmax(1) == gold).all())


def test_the_first_token_stands_once_before_a_text(house: Path) -> None:
    model = adapter.as_lm_eval(str(house / "models/e1"), house)
    first, bare = model.loaded.first, model.tok_encode("the ban", add_special_tokens=False)
    assert first not in bare
    assert model.tok_encode("the ban") == [first, *bare]


@pytest.mark.parametrize(
    ("name", "task", "here"), inputs("rows")["test_its_numbers_are_those_of_tasks_here"]
)
def test_its_numbers_are_those_of_tasks_here(
    house: Path, items: Path, name: str, task: str, here: str
) -> None:
    place = str(house / name) if "models" in name else name
    found = evaluated(adapter.as_lm_eval(place, house), items, task)
    shown = read_items(TOY, "shown", items).items
    fewshot = read_fewshot_task(TOY, "qab", items)
    fewshot = replace(fewshot, demonstrations=(tuple(shown),))
    subject = open_model(here if "models" not in here else place, house)
    scores = score_task(subject, fewshot).scores
    samples = {sample["doc"]["id"]: sample for sample in found["samples"][task]}
    for score in scores:
        said = [float(answer[0]) for answer in samples[score.id]["filtered_resps"]]
        np.testing.assert_allclose(said, score.sums, atol=1e-4)
    result = found["results"][task]
    assert result["acc,none"] == pytest.approx(correct(scores, "sum").mean(), abs=1e-4)
    assert result["acc_norm,none"] == pytest.approx(correct(scores, "character").mean(), abs=1e-4)


@pytest.mark.parametrize("begun", [True, False])
def test_answers_of_hub_models_are_those_of_lm_evals_own(
    house: Path, items: Path, tmp_path: Path, begun: bool
) -> None:
    """Where a tokenizer puts a token before a text, and where it puts none."""
    folder = hub_model(tmp_path / "hub", house, {"bos_token": "<s>"}, template=begun)
    theirs = importlib.import_module("lm_eval.models.huggingface").HFLM(
        pretrained=str(folder), device="cpu", dtype="float32", batch_size=4
    )
    fewshot = replace(
        read_fewshot_task(TOY, "qab", items),
        demonstrations=(read_items(TOY, "shown", items).items,),
    )
    subject, before = (
        open_model(str(folder), house),
        fewshot_prefix(TOY, fewshot.demonstrations[0]),
    )
    scores = score_task(subject, fewshot).scores
    ours = [total for score in scores for total in score.sums]
    asked = [
        request(f"{before}{item.prompt}", f" {ending}")
        for item in fewshot.items
        for ending in item.endings
    ]
    found = theirs.loglikelihood(asked, disable_tqdm=True)
    np.testing.assert_allclose(ours, [value for value, _ in found], atol=1e-4)
    asked += [request("", words) for words in WORDS]  # behind its `bos_token`
    found = theirs.loglikelihood(asked, disable_tqdm=True)
    through = adapter.as_lm_eval(str(folder), house).loglikelihood(asked, disable_tqdm=True)
    np.testing.assert_allclose([x for x, _ in through], [x for x, _ in found], atol=1e-4)
    assert [whether for _, whether in through] == [whether for _, whether in found]
    written = [request(words, {"max_gen_toks": 8, "until": ["on"]}) for words in WORDS]
    expected = theirs.generate_until(written, disable_tqdm=True)
    assert adapter.as_lm_eval(str(folder), house).generate_until(written) == expected
    whole = [request(words) for words in (*WORDS, " ".join(WORDS) * 7)]  # the last in windows
    np.testing.assert_allclose(
        adapter.as_lm_eval(str(folder), house).loglikelihood_rolling(whole, disable_tqdm=True),
        theirs.loglikelihood_rolling(whole, disable_tqdm=True),
        atol=2e-4,
    )


def test_experts_as_one_model_are_run_by_lm_evals_own(house: Path, tmp_path: Path) -> None:
    model, _ = merge_to_moe([house / f"models/e{n}" for n in range(3)], 2)
    folder = save_tiny(model, tmp_path / "moe", house / "models/e0/tokenizer.json")
    write_json(folder / "tokenizer_config.json", {"eos_token": "<|end|>"})
    theirs = importlib.import_module("lm_eval.models.huggingface").HFLM(
        pretrained=str(folder), device="cpu", dtype="float32", batch_size=1
    )
    asked = [request(words, " ban of") for words in WORDS]
    ours = adapter.as_lm_eval(str(folder), house).loglikelihood(asked, disable_tqdm=True)
    found = theirs.loglikelihood(asked, disable_tqdm=True)
    np.testing.assert_allclose([x for x, _ in ours], [x for x, _ in found], atol=1e-4)
    alone = adapter.as_lm_eval(str(house / "models/e0"), house).loglikelihood(asked)
    assert abs(alone[0][0] - found[0][0]) > 1e-3


def test_it_tells_what_the_model_would_write(house: Path) -> None:
    model = adapter.as_lm_eval(str(house / "models/e1"), house)
    subject, asked = model.loaded, []
    for words in WORDS:
        begun = np.concatenate([[subject.first], subject.encode(words)])
        (text,) = adapter.write(subject, [begun], max_tokens=3)
        asked += [(words, subject.tokenizer.decode(text.tolist())), (words, " ban of")]
    asked.append(("", "the ban"))
    found = model.loglikelihood([request(*pair) for pair in asked], disable_tqdm=True)
    expected = [brute(subject, *pair) for pair in asked]
    np.testing.assert_allclose([a for a, _ in found], [a for a, _ in expected], atol=1e-4)
    assert [b for _, b in found] == [b for _, b in expected]
    assert any(b for _, b in found)


@pytest.mark.parametrize("routing", ["tfidf:2", "filter"])
def test_a_context_is_continued_no_further_than_its_own_ends(house: Path, routing: str) -> None:
    """Before: a long end of one item, a full context of another, and no result at all."""
    model, rows, expected = open_model(f"small/small@{routing}", house), list[Row](), list[bool]()
    assert model.context is not None
    words = np.tile(model.encode(" ".join(WORDS)), 9)
    for start, count in ((model.context - 1, 2), (5, 20)):
        begun = np.concatenate([[model.first], words[: start - 1]])
        (text,) = adapter.write(model, [begun], max_tokens=count)
        for end in (text, np.append(text[:-1], (text[-1] + 1) % 300)):
            rows.append(Row(np.concatenate([begun, end]), start, None, start))
            expected.append(end is text)
    assert adapter.would_write(model, rows, score_rows(model, rows)) == expected


@pytest.mark.parametrize("name", ["models/e1", "small/small@tfidf:2"])
def test_whole_texts_cost_what_they_cost_here(house: Path, name: str) -> None:
    model = adapter.as_lm_eval(str(house / name) if "models" in name else name, house)
    texts = [" ".join(WORDS) * 7, "the ban of", ""]
    assert len(model.loaded.encode(texts[0])) > 96
    begun = [np.array([model.loaded.first, *model.loaded.encode(text)]) for text in texts]
    expected = [own.sum() for own in token_nats(model.loaded, begun, Policy(back=True))]
    found = model.loglikelihood_rolling([request(text) for text in texts], disable_tqdm=True)
    np.testing.assert_allclose(found, np.negative(expected), atol=1e-4)


def test_it_writes_up_to_the_words_that_end_a_text(house: Path) -> None:
    model = adapter.as_lm_eval("small/small@tfidf:2", house)
    whole, asked = {"max_gen_toks": 20}, [(words, {"max_gen_toks": 20}) for words in WORDS]
    texts = model.generate_until([request(*one) for one in asked])
    stop = next(text[2:4] for text in texts if len(text) > 5)
    cut = model.generate_until([request(words, {**whole, "until": [stop]}) for words, _ in asked])
    assert cut == [text.partition(stop)[0] for text in texts]
    drawn = {"do_sample": True, "temperature": 2.0, **whole}
    assert model.generate_until([request(words, drawn) for words in WORDS]) != texts


def test_a_token_that_begins_with_a_word_ends_a_text(house: Path) -> None:
    subject = open_model("small/small", house)
    found = adapter.begins_with(subject, [" a"])
    pieces = [subject.tokenizer.id_to_token(number) for number in found]
    assert pieces and all(piece and piece.startswith("Ġa") for piece in pieces)


def test_a_request_that_is_too_long_loses_its_beginning(house: Path) -> None:
    model, long = adapter.as_lm_eval(str(house / "models/e1"), house), " ".join(WORDS) * 7
    with pytest.raises(UserError, match="no tokens"):
        model.loglikelihood([request(long, "")], disable_tqdm=True)
    ((found, _),) = model.loglikelihood([request(long, " art")], disable_tqdm=True)
    tokens = model.loaded.encode(f"{long} art")
    ends = len(tokens) - len(model.loaded.encode(long))
    row = Row(tokens[-97:], 97 - ends, None, 0)
    assert found == pytest.approx(-float(score_rows(model.loaded, [row])[0].nats.sum()), abs=1e-4)
    assert model.generate_until([request(long, {"max_gen_toks": 20})])[0]
    with pytest.raises(UserError, match=r"96 tokens to generate; .*\n  lower `max_gen_toks`"):
        model.generate_until([request("the ban", {"max_gen_toks": 96})])


def test_a_routing_by_language_needs_the_language_of_what_is_generated(house: Path) -> None:
    model = adapter.as_lm_eval("small/small@language", house)
    with pytest.raises(UserError, match="the text's language is not given"):
        model.generate_until([request("the ban", {"max_gen_toks": 4})])


def test_tasks_tell_their_languages() -> None:
    known = dict.fromkeys(("sw", "de", "mt", "cmn", "qab"))
    told = inputs("rows")["test_tasks_tell_their_languages"]
    assert [adapter.language_of(task, {}, known) for task, _ in told] == [x for _, x in told]
    assert adapter.language_of("toy_qab", {"language": "de"}, known) == "de"
