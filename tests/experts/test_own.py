"""From a folder of texts to an ensemble that generates, and a language later, by the examples."""

import json
import random
from pathlib import Path
from shutil import copy

import pytest
from click.testing import CliRunner, Result

from tongues.cli.main import command

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
SMALL = (
    "tokens.held_out=1k tokens",
    "text.clean.language=off",
    "train.budget=4k tokens",
    "train.batch=512 tokens",
    "train.context=32 tokens",
    "train.threads=1",
    "train.num_evals=1",
)


def write_texts(folder: Path, lang: str, documents: int, length: int) -> None:
    """Documents of a language's own words; those of one number are of one group."""
    chance = random.Random(lang)
    words = ["".join(chance.choices("abdegiklmnorstu", k=5)) for _ in range(100)]
    (folder / "texts" / lang).mkdir(parents=True)
    with (folder / "texts" / lang / "all.jsonl").open("w") as file:
        for number in range(documents):
            text = " ".join(chance.choices(words, k=length))
            file.write(json.dumps({"text": text, "group": str(number)}) + "\n")


@pytest.mark.slow
def test_a_folder_of_texts_becomes_an_ensemble_and_a_language_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in EXAMPLES.glob("own*.yaml"):
        copy(file, tmp_path)
    for lang in ("de", "en", "hi", "sw"):
        write_texts(tmp_path, lang, 60, 80)

    def tongues(*words: str, small: tuple[str, ...] = ()) -> Result:
        return CliRunner().invoke(command, [*words, *small], catch_exceptions=False)

    own = (*SMALL, "tokens.vocab_size=300")
    tongues("prepare", "own.yaml", small=own)
    tongues("train", "own.yaml", "model.shape=0.05M", small=own)
    tongues("experts", "train", "own-experts.yaml", small=own)
    told = tongues("generate", "own/topics-2-s1", "Es war", "--max-tokens", "3", "--experts")
    assert told.stdout.startswith("Es war")
    write_texts(tmp_path, "nl", 120, 20)  # translates the others, in short
    tongues("prepare", "own-more.yaml", small=SMALL)
    added = tongues("experts", "train", "own-more.yaml", small=SMALL)
    assert "`sw` 1.08k of 2.14k (" in added.stderr
    told = tongues("generate", "own-more/added-s1", "Er was", "--max-tokens", "3", "--experts")
    assert told.stdout.startswith("Er was")
    assert "own-more/added-s1" in tongues("ls").stdout
