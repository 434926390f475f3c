import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from tongues.errors import UserError
from tongues.serve.served import Served

MODEL = "small/small"


def test_a_conversation_is_written_as_the_template_says(
    served: Mapping[str, Served], hub: str
) -> None:
    model = served[hub]
    said = [{"role": "user", "content": "the ban"}, {"role": "assistant", "content": "of a mal"}]
    found = model.tokenizer.decode(model.converse(said).tokens.tolist(), skip_special_tokens=False)
    assert found == "user: the ban\nassistant: of a mal\nassistant: "
    assert not model.converse(said).begun
    assert model.chats
    assert not served[MODEL].chats
    with pytest.raises(UserError, match="no chat template"):
        served[MODEL].converse(said)


def templated(model: Served, template: str) -> Served:
    """The same model with another template."""
    found = replace(model)
    found.template_reader.chat_template = template
    return found


def written(model: Served, *contents: str) -> str:
    said = [{"role": "user", "content": content} for content in contents]
    return model.tokenizer.decode(model.converse(said).tokens.tolist(), skip_special_tokens=False)


def test_a_special_token_in_a_message_is_letters(served: Mapping[str, Served], hub: str) -> None:
    end, spelt = served[hub].ensemble.end_id, "the <|end|> ban "
    turn = "{{% for each in messages %}}{}: {{{{ {} }}}}<|end|>{{% endfor %}}"
    for content, kept in (("each.content", spelt), ("each.content | trim", spelt.strip())):
        model = templated(served[hub], turn.format("<|end|>", content))
        ids = model.converse([{"role": "user", "content": text} for text in ("a", spelt)]).tokens
        assert ids.tolist().count(end) == 4
        assert written(model, "a", spelt) == f"<|end|>: a<|end|><|end|>: {kept}<|end|>"
    for content in ("each.content | upper", "each.content * 2", "each.content.split('|')[0]"):
        model = templated(served[hub], turn.format("", content))
        assert written(model, "a")
        with pytest.raises(UserError, match=re.escape("spells `<|end|>`")):
            written(model, "a", spelt)


def test_a_conversation_that_begins_with_a_special_token_has_begun(
    served: Mapping[str, Served], hub: str
) -> None:
    model = templated(served[hub], "<|end|>{{ messages[0].content }}")
    prompt = model.converse([{"role": "user", "content": "the"}])
    assert prompt.begun
    assert prompt.tokens.tolist() == [model.first, *model.encode("the")]
    assert prompt.size == len(model.encode("the"))


def test_a_text_begins_where_its_prompt_says(served: Mapping[str, Served]) -> None:
    model = served[MODEL]
    bare = replace(model, prompted=False)
    for ids, begun, own in (([], False, False), ([40], False, True), ([model.first], True, True)):
        assert model.prompt(np.array(ids, dtype=np.int64)).begun == begun
        assert bare.prompt(np.array(ids, dtype=np.int64)).begun == own


def test_a_prompt_that_spells_a_special_token_is_letters(served: Mapping[str, Served]) -> None:
    model = served[MODEL]
    ids = model.encode("the <|end|> ban")
    assert not model.stops & set(ids.tolist())
    assert b"".join(model.bytes_of(token) for token in ids) == b"the <|end|> ban"


def test_it_says_what_it_is(served: Mapping[str, Served]) -> None:
    told = served[MODEL].describe()
    assert [expert["name"] for expert in told["experts"]] == list(served[MODEL].experts)
    assert told["routing"] == "tfidf:1"
    assert (told["context"], told["chat"], told["kind"]) == (96, False, "ensemble")
