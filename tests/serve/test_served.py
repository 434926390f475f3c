from collections.abc import Mapping

import pytest

from tongues.errors import UserError
from tongues.serve.served import Served

MODEL = "small/small"


def test_a_conversation_is_written_as_the_template_says(
    served: Mapping[str, Served], hub: str
) -> None:
    model = served[hub]
    said = [{"role": "user", "content": "the ban"}, {"role": "assistant", "content": "of a mal"}]
    found = model.tokenizer.decode(model.converse(said).tolist(), skip_special_tokens=False)
    assert found == "user: the ban\nassistant: of a mal\nassistant: "
    assert model.chats
    assert not served[MODEL].chats
    with pytest.raises(UserError, match="no chat template"):
        served[MODEL].converse(said)


def test_a_message_cannot_spell_a_special_token(served: Mapping[str, Served], hub: str) -> None:
    with pytest.raises(UserError, match="spells `<|end|>`".replace("|", r"\|")):
        served[hub].converse([{"role": "user", "content": "the <|end|> ban"}])


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
