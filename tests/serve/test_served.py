import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

import tongues
from tests.experts.ensemble.making import make_tokenizer
from tests.models.families import save_tiny, tiny
from tests.records import make_run
from tests.serve.serving import Server
from tongues.core.errors import UserError
from tongues.core.foreign.rules import FolderRules, Messages, has_template
from tongues.experts.ensemble.model import Model, Prompt, open_model
from tongues.runs.record import write_run
from tongues.use.serve.app import describe_model
from tongues.use.serve.completions import conversation_prompt
from tongues.use.serve.opening import open_served

MODEL = "small/small"


def prompt_of(model: Model, messages: Messages) -> Prompt:
    ids = FolderRules(model.ensemble.tokenizer).conversation(messages)
    return conversation_prompt(model, np.array(ids, dtype=np.int64))


def test_a_conversation_is_written_as_the_template_says(
    served: Mapping[str, Model], hub: str
) -> None:
    model = served[hub]
    said = [{"role": "user", "content": "the ban"}, {"role": "assistant", "content": "of a mal"}]
    ids = prompt_of(model, said).tokens.tolist()
    found = model.tokenizer.decode(ids, skip_special_tokens=False)
    assert found == "user: the ban\nassistant: of a mal\nassistant: "
    assert not prompt_of(model, said).begun
    assert has_template(model.ensemble.tokenizer)
    assert not has_template(served[MODEL].ensemble.tokenizer)
    with pytest.raises(UserError, match="no chat template"):
        prompt_of(served[MODEL], said)


def templated(model: Model, template: str) -> Model:
    """The same model with another template."""
    folder = Path(mkdtemp())
    for file in model.ensemble.tokenizer.glob("tokenizer*.json"):
        shutil.copy(file, folder)
    (folder / "chat_template.jinja").write_text(template)
    return replace(model, ensemble=replace(model.ensemble, tokenizer=folder))


def written(model: Model, *contents: str) -> str:
    said = [{"role": "user", "content": content} for content in contents]
    return model.tokenizer.decode(prompt_of(model, said).tokens.tolist(), skip_special_tokens=False)


def test_a_special_token_in_a_message_is_letters(served: Mapping[str, Model], hub: str) -> None:
    end, spelt = served[hub].ensemble.frame.end, "the <|end|> ban "
    turn = "{{% for each in messages %}}{}: {{{{ {} }}}}<|end|>{{% endfor %}}"
    for content, kept in (("each.content", spelt), ("each.content | trim", spelt.strip())):
        model = templated(served[hub], turn.format("<|end|>", content))
        ids = prompt_of(model, [{"role": "user", "content": text} for text in ("a", spelt)]).tokens
        assert ids.tolist().count(end) == 4
        assert written(model, "a", spelt) == f"<|end|>: a<|end|><|end|>: {kept}<|end|>"
    for content in ("each.content | upper", "each.content * 2", "each.content.split('|')[0]"):
        model = templated(served[hub], turn.format("", content))
        assert written(model, "a")
        with pytest.raises(UserError, match=re.escape("spells `<|end|>`")):
            written(model, "a", spelt)


def test_a_conversation_that_begins_with_a_special_token_has_begun(
    served: Mapping[str, Model], hub: str
) -> None:
    model = templated(served[hub], "<|end|>{{ messages[0].content }}")
    prompt = prompt_of(model, [{"role": "user", "content": "the"}])
    assert prompt.begun
    assert prompt.tokens.tolist() == [model.first, *model.encode("the")]
    assert prompt.size == len(model.encode("the"))


def test_a_text_begins_where_its_prompt_says(served: Mapping[str, Model]) -> None:
    model = served[MODEL]
    bare = replace(model, prompted=False)
    for ids, begun, own in (([], False, False), ([40], False, True), ([model.first], True, True)):
        assert model.prompt(np.array(ids, dtype=np.int64)).begun == begun
        assert bare.prompt(np.array(ids, dtype=np.int64)).begun == own


def test_a_prompt_that_spells_a_special_token_is_letters(served: Mapping[str, Model]) -> None:
    model = served[MODEL]
    ids = model.encode("the <|end|> ban")
    assert not model.stops & set(ids.tolist())
    assert b"".join(model.bytes_of(token) for token in ids) == b"the <|end|> ban"


def test_it_says_what_it_is(server: Server, served: Mapping[str, Model]) -> None:
    about = server.http.get(f"/v1/models/{MODEL}").json()["tongues"]
    assert [expert["name"] for expert in about["experts"]] == list(served[MODEL].experts)
    assert about["routing"] == "filter:2"
    offered = [one["routing"] for one in about["routings"]]
    assert offered[:2] == ["filter:2", "filter"] and {"tfidf:1", "language"} <= {*offered}
    assert (about["context"], about["chat"], about["kind"]) == (96, False, "ensemble")


def test_a_single_model_has_the_languages_of_its_run_or_card(tmp_path: Path) -> None:
    run = tmp_path / "runs/one"
    save_tiny(tiny("llama", 300), run / "model", make_tokenizer(tmp_path / "tokenizer"))
    write_run(run, make_run(run="one", shares={"de": 0.5, "tr": 0.5}))
    shutil.copytree(run / "model", tmp_path / "card")
    (tmp_path / "card/README.md").write_text("---\nlanguage: [sw]\n---\n")
    for name, languages in (("one", ["de", "tr"]), (str(tmp_path / "card"), ["sw"])):
        about = describe_model(open_model(name, tmp_path), 0)["tongues"]
        assert about["languages"] == languages == about["experts"][0]["languages"]


def test_one_model_names_the_server_that_is_made_for_it(
    served: Mapping[str, Model], hub: str, tmp_path: Path
) -> None:
    shutil.copytree(hub, tmp_path / "with gguf")
    file = tmp_path / "with gguf/model-bf16.gguf"
    file.touch()
    lines: list[str] = []
    _, rules = open_served([str(file.parent)], tmp_path, say=lines.append)
    for each in rules.values():
        each.close()
    assert [line.partition(": ")[2] for line in lines] == [f"`llama-server -m '{file}'`"]
    with pytest.raises(UserError, match="a file of llama") as caught:
        tongues.serve(str(file), tmp_path)
    assert caught.value.hint == f"`llama-server -m '{file}'` serves it"


DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = Path(str(files("tongues.use.serve"))) / "example/ensembles"


def test_the_example_works_as_printed(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "how-to/serve.md").read_text(), re.DOTALL)
    code = code.replace("http://127.0.0.1:8000/", server.url)
    exec(compile(code, "serve.md", "exec"), {})
    *_, last = capsys.readouterr().out.splitlines()
    assert "['e0', 'e1', 'e2']" in last
    assert re.search(r"\[\[\d\.\d", last)


def test_curl_asks_for_the_example_that_the_page_serves() -> None:
    asked = re.findall(r'-d \'\{"model": "([^"]+)"', (DOCS / "how-to/serve.md").read_text())
    assert asked == [folder.name for folder in EXAMPLE.iterdir()]
