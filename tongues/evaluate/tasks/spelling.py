"""Whether a tokenizer has the letters of a text."""

import json

from tokenizers import Tokenizer, models

__all__ = ["Spelling"]


class Spelling:
    """What of a text a tokenizer can spell; every letter is tried once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer, self._unknown = tokenizer, _unknown(tokenizer)
        self._known: dict[str, bool] = {}

    def missing(self, text: str) -> float:
        """The share of a text's letters and digits that have no token of their own or of bytes."""
        letters = [letter for letter in text if letter.isalnum()]
        return sum(not self._spells(letter) for letter in letters) / max(len(letters), 1)

    def _spells(self, letter: str) -> bool:
        if letter not in self._known:
            once, twice = (
                self._tokenizer.encode(text, add_special_tokens=False).ids
                for text in (letter, 2 * letter)
            )
            # A letter that is dropped leaves no more behind when it is there twice.
            self._known[letter] = once != twice and self._unknown not in once
        return self._known[letter]


def _unknown(tokenizer: Tokenizer) -> int | None:
    """The id of what stands for all that a tokenizer does not know, if it has one."""
    model = tokenizer.model
    if isinstance(model, models.BPE):
        return None if model.unk_token is None else tokenizer.token_to_id(model.unk_token)
    return json.loads(tokenizer.to_str())["model"].get("unk_id")
