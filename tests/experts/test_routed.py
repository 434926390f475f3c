from pathlib import Path

import numpy as np

from tests.experts.ensemble.making import LANGUAGES, TEXT, make_router, make_tokenizer
from tongues.experts.ensemble.lineage import Expert, Lineage
from tongues.experts.routed import routed_texts, spelt
from tongues.tokens import load_tokenizer


def test_letters_of_several_tokens_stay_whole(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(make_tokenizer(tmp_path))
    text = "the ban ਭਾਸ਼ਾ مرحبا 言"
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    pieces = list(spelt(tokenizer, ids))
    assert "".join(piece for _, piece in pieces) == text
    assert [count for count, _ in pieces][-1] == len(ids)
    assert len(pieces) < len(ids)  # a letter of these scripts takes two tokens or three
    cut = list(spelt(tokenizer, ids[:-1]))  # what is cut in two is left out
    assert text.startswith("".join(piece for _, piece in cut))


def test_a_text_through_several_experts_and_one_of_each_language(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(make_tokenizer(tmp_path))
    experts = tuple(Expert(f"e{i}", "", {}, {}, None, None, 0) for i in range(2))
    owners: dict[str, str] = dict(zip(LANGUAGES, ("e0", "e0", "e1", "e1"), strict=True))
    lineage = Lineage(experts, owners, "seed", "", None, {})
    ids = np.array(tokenizer.encode(TEXT, add_special_tokens=False).ids)
    held_out = {lang: [ids[place:]] for place, lang in enumerate(LANGUAGES)}
    router = make_router(2)
    found = routed_texts(lineage, router, tokenizer, held_out)
    assert [list(one.languages) for one in found] == [
        ["qaa", "qac"],
        *([lang] for lang in LANGUAGES),
    ]
    first = found[1].spans
    assert first[0].weights == dict(zip("01", router.prior.round(3), strict=True))
    weights = router.filter.beliefs(ids[:40]) @ router.owned
    for (count, text), piece in zip(spelt(tokenizer, ids[:40].tolist()), first, strict=True):
        assert piece.text == text
        told = [(str(n), round(w, 3)) for n, w in enumerate(weights[count - 1]) if w >= 0.01]
        assert list(piece.weights.items()) == told
