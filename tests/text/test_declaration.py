"""One text in 532 versions and 40 scripts: nothing but its language may drop it."""

from collections import defaultdict
from pathlib import Path

import numpy as np

from tests.text.corpora import USUAL, text_of, write_rows
from tests.text.real import declaration
from tests.text.test_select import selected, why
from tongues.text.signals.characters import character_signals
from tongues.text.tokens.fertility import measure_texts
from tongues.text.tokens.tokenizer import train_tokenizer


def test_nothing_is_dropped_but_for_its_language(tmp_path: Path) -> None:
    texts = [text for _, text in declaration()]
    path = str(write_rows(tmp_path / "qaa.jsonl", texts))
    usual = USUAL | {"language": "off", "siblings": "off", "near": "off"}
    _, selection = selected(text_of({"qaa": path}, usual), tmp_path)
    assert len(texts) == 532 and set(why(selection)) <= {"kept", "copy"}


def test_marks_between_syllables_and_words_are_no_symbols() -> None:
    texts = [text for lang, text in declaration() if lang in ("bo", "dz")]
    shares = character_signals([*texts, "ሰላም፡ለዓለም", "ሰላም።"])["symbols"]
    assert (shares[:2] < 0.05).all() and shares[2] == 0 < shares[3]


def test_every_script_gets_through_the_tokenizer() -> None:
    by_script = defaultdict[str, list[str]](list)
    texts = [text for _, text in declaration()]
    for text, script in zip(texts, character_signals(texts)["script"], strict=True):
        by_script[str(script)].append(text)
    assert len(by_script) == 40
    for script, some in by_script.items():
        size = sum(len(text.encode()) for text in some)
        tokenizer = train_tokenizer({script: some}, {script: size}, 600)
        assert measure_texts(tokenizer, {script: some})[script].caution is None, script
        ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in some]
        assert [tokenizer.decode(each) for each in ids] == some
        assert np.concatenate(ids).max() < 600
