import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from tests.serve.serving import Server
from tongues.errors import UserError
from tongues.experts.ensemble.model import Model, Prompt
from tongues.serve.completions import conversation_prompt
from tongues.serve.opening import open_served
from tongues.serve.text_rules import FolderRules, Messages, has_template

MODEL = "small/small"


def prompt_of(model: Model, messages: Messages) -> Prompt:
    ids = FolderRules(model.ensemble.tokenizer).conversation(messages)
    return conversation_prompt(model, np.array(ids, dtype=np.int64))


def test_a_conversation_is_written_as_the_template_says(
    served: Mapping[str, Model], hub: str
) -> None:
    model = served[hub]
    said = [{"role": "user", "content": "the ban"}, {"role": "assistant", "content": "of a mal"}]
    found = model.tokenizer.decode(
        prompt_of(model, said).tokens.tolist(), skip_special_tokens=False
    )
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
    assert about["routing"] == "filter:1"
    offered = [one["routing"] for one in about["routings"]]
    assert offered[:2] == ["filter:1", "filter"] and {"tfidf:1", "language"} <= {*offered}
    assert (about["context"], about["chat"], about["kind"]) == (96, False, "ensemble")


def test_a_file_without_llama_cpp_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    with pytest.raises(UserError, match="not installed") as error:
        open_served([str(file)], tmp_path, say=print)
    assert "llama-cpp-python" in error.value.hint
