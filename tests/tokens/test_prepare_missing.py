"""A language with nothing left does not stop the others."""

from pathlib import Path

import pytest

from tests.text.corpora import OFF, quiet, recipe_of, text, text_of, write_rows
from tongues.errors import UserError
from tongues.recipe import Recipe
from tongues.tokens import open_tokens, prepare_tokens
from tongues.tokens.store import read_manifest


def settings_of(folder: Path, **files: list[str]) -> Recipe:
    paths = {lang: str(write_rows(folder / f"{lang}.jsonl", rows)) for lang, rows in files.items()}
    clean = OFF | {"characters": 50}
    return recipe_of(text_of(paths, clean), byte_fallback="allow")


def test_the_other_languages_are_written_and_the_missing_ones_named(tmp_path: Path) -> None:
    enough = [text(n) for n in range(60)]
    settings = settings_of(tmp_path, nso=["short", "as short"], de=enough, ga=[text(1), text(2)])
    for _ in range(2):  # and again, where there is nothing to do
        with pytest.raises(UserError) as error:
            prepare_tokens(settings, tmp_path, quiet, ranks=2)
        assert error.value.code == "languages_missing" and error.value.exit_code == 1
        assert "written for de, but not for nso, ga" in error.value.what
        assert "nso: all of its documents are dropped (short 2, 13 B)" in error.value.what
        assert "nso: see `tongues report" in error.value.hint
        assert "`text.clean: {languages: {nso: {characters: off}}}` keeps them" in error.value.hint
        assert "ga: give at least 1k tokens, or lower" in error.value.hint
    tokens = open_tokens(tmp_path / "tokens/a")
    assert tokens.languages == ("de",)
    assert set(read_manifest(tokens.path)["missing"]) == {"nso", "ga"}


def test_nothing_of_any_language_is_an_error_with_nothing_written(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, nso=["short"], de=["as short"])
    with pytest.raises(UserError, match="all of its documents are dropped") as error:
        prepare_tokens(settings, tmp_path, quiet)
    assert error.value.where == "text of nso" and error.value.exit_code == 2
    assert not (tmp_path / "tokens").exists()
