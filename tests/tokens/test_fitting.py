"""What `prepare` reports of an extension: the text of the base languages that would change."""

from pathlib import Path

import numpy as np

from tests.text.corpora import recipe_of, text_of, write_rows
from tongues.tokens import load_tokenizer, prepare_tokens
from tongues.tokens.fertility import changed_share
from tongues.tokens.tokenizer import save_tokenizer, train_tokenizer

TOKENS = {"held_out": "100 tokens", "byte_fallback": "allow"}


def sentences(words: str, count: int) -> list[str]:
    """Texts of 12 of these words at random."""
    rng = np.random.default_rng(len(words))
    return [" ".join(rng.choice(words.split(), 12)) for _ in range(count)]


PLAIN = sentences("the cat sat on a mat and one dog lay by it while two men ate their soup", 90)
ODD = sentences("ziggurat zigzags in zinc of the zoo", 20)
NEW = sentences("mulazig zig azigu lazigi zigamu zigola amu lazi guzi zimu", 90)


def files_of(folder: Path, **texts: list[str]) -> dict[str, str]:
    """A file of rows for each name."""
    return {name: str(write_rows(folder / f"{name}.jsonl", rows)) for name, rows in texts.items()}


def test_text_that_the_extension_has_not_seen_changes(tmp_path: Path) -> None:
    """Text of another source, or of a single one a tenth that is left out."""
    files = files_of(tmp_path, plain=PLAIN, odd=ODD, new=NEW)
    base = train_tokenizer({"en": PLAIN}, {"en": 3000}, 300)
    save_tokenizer(base, tmp_path / "base")
    extend = {"new_tokens": 30, "languages": ["qaa"], "preserve": ["en"]}
    settings = {"base": str(tmp_path / "base"), "extend": extend, **TOKENS}
    shares = []
    for english in (["plain", "odd"], ["plain"]):
        text = text_of({"en": [files[name] for name in english], "qaa": files["new"]})
        printed: list[str] = []
        made = prepare_tokens(recipe_of(text, **settings), tmp_path / english[-1], printed.append)
        (line,) = (line for line in printed if "would change" in line)
        source, share = line.split(", if it had not been read, ")
        left_out = files["odd"] if english[1:] else "a tenth of this text"
        assert source == f"en: of {left_out}"
        shares.append(float(share.split("%")[0]))
        # The extension itself has seen that source, which keeps its tokens.
        assert changed_share(base, load_tokenizer(made), ODD if english[1:] else PLAIN) == 0
    assert 2 < shares[0] < 60 and shares[1] < 0.1


def test_a_tokenizer_tells_which_languages_are_repeated(tmp_path: Path) -> None:
    printed: list[str] = []
    for count in (60, 30):
        files = files_of(tmp_path / str(count), en=PLAIN, qaa=NEW[:count])
        settings = recipe_of(text_of(files), **TOKENS)
        prepare_tokens(settings, tmp_path / str(count), printed.append)
    even, uneven = (line for line in printed if line.startswith("training a tokenizer on "))
    assert even.endswith(" of text")
    assert uneven.endswith("of text; that of qaa is repeated, to have as much of each language")
