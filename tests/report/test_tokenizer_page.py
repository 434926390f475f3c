import json
from pathlib import Path
from random import Random

import pytest
from tokenizers import Tokenizer

from tests.report.pages import Page
from tests.tokens.bases import gpt, llama, unigram
from tongues.core.errors import UserError
from tongues.core.files import read_json
from tongues.core.pages import page_as_html, write_page
from tongues.plan.vocabulary import worth_adding
from tongues.recipe import load_recipe
from tongues.report.tokenizer import tokenizer_page
from tongues.text.tokens import prepare_tokens
from tongues.text.tokens.measures import documents_on, measure_tokenizers

WORDS = {
    "en": "the quick brown fox jumps over a lazy dog and house in winter water bread song river "
    "parent carries green apples home while children sleep under old trees",
    "ru": "эта быстрая бурая лиса прыгает через одну ленивую собаку и дом зимой вода хлеб песня "
    "река мать несёт зелёные яблоки домой пока дети спят под старыми деревьями",
}


def sentences(lang: str) -> list[str]:
    """Sixty texts of ten words, the same ones in every language."""
    words = WORDS[lang].split()
    return [" ".join(Random(number).sample(words, 10)) for number in range(60)]


ENGLISH, RUSSIAN = sentences("en"), sentences("ru")


def saved(tokenizer: Tokenizer, folder: Path) -> Path:
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """English and Russian of the same groups."""
    place = tmp_path_factory.mktemp("text")
    for lang, texts in (("en", ENGLISH), ("ru", RUSSIAN)):
        rows = [{"text": text, "group": f"g{number}"} for number, text in enumerate(texts)]
        (place / f"{lang}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = place / "two.yaml"
    path.write_text(
        f"name: two\ntext: {{files: {{en: {place}/en.jsonl, ru: {place}/ru.jsonl}}}}\n"
        "train: {mixture: {en: 100%}, budget: 1k tokens}\n"
    )
    return path


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = tmp_path_factory.mktemp("tokenizers")
    return [
        saved(gpt(ENGLISH, 300), place / "english"),
        saved(unigram([*ENGLISH, *RUSSIAN], 200), place / "both"),
    ]


def test_tokenizers_stand_side_by_side(tokenizers: list[Path], recipe: Path, tmp_path: Path):
    told: list[str] = []
    report = write_page(tokenizer_page(tokenizers, recipe, told.append), tmp_path / "page")
    page = Page(report.read_text())
    assert not page.open
    assert all((report.parent / place).is_file() for place in page.loads)
    assert page.said.startswith("Tokenizers english and both")
    assert "tokens versus English" in page.said and "falls back to bytes" in page.said
    assert told[0] == f"reading text of {recipe}"
    first, second = read_json(report.parent / "report.json")["tokenizers"]
    assert (first["kind"], second["kind"]) == ("BPE", "Unigram")
    russian = first["languages"]["ru"]
    tokenizer = Tokenizer.from_file(str(tokenizers[0] / "tokenizer.json"))
    tokens = [len(tokenizer.encode(text).ids) for text in RUSSIAN]
    assert russian["tokens"] == sum(tokens)
    assert russian["bytes_per_token"] == sum(len(t.encode()) for t in RUSSIAN) / sum(tokens)
    assert russian["multiplier"] > 2
    assert russian["spelt_out"]
    fewest = second["languages"]["ru"]["bytes_per_token"]
    opening = f"Russian, bytes per token{fewest:.2f}both; english {russian['bytes_per_token']:.2f}"
    saved = 100 * (1 - russian["bytes_per_token"] / fewest)
    places = [page.said.index(x) for x in (opening, f"by both{saved:.1f}", "Tokens by language")]
    assert places == sorted(places)


def test_without_text_there_is_no_page(tokenizers: list[Path]):
    with pytest.raises(UserError, match="no text to try it on") as caught:
        tokenizer_page(tokenizers[:1], None, print)
    assert "--text RECIPE" in caught.value.hint


def test_more_pieces_are_tried_for_all_but_the_home_language(recipe: Path, tmp_path: Path):
    place = saved(llama([*ENGLISH, *RUSSIAN[:5]], 330), tmp_path / "l")
    (measured,) = measure_tokenizers([place], documents_on(recipe, 10**6), lambda line: None)
    assert measured.home == "en"
    assert set(measured.extensions) == {"ru"}
    assert max(measured.extensions["ru"]) >= worth_adding(measured.extensions["ru"])


def test_without_english_the_language_that_fits_best_is_home(tmp_path: Path):
    place = saved(gpt(RUSSIAN, 500), tmp_path / "russian")
    texts = {"el": ["το γρήγορο καφέ αλεπού πηδά"] * 20, "ru": RUSSIAN, "he": []}
    documents = {lang: [("", text) for text in those] for lang, those in texts.items()}
    (measured,) = measure_tokenizers([place], documents, lambda line: None)
    assert measured.home == "ru"
    assert set(measured.languages) == {"el", "ru"}


def test_text_is_taken_from_a_recipe_up_to_a_size(recipe: Path, tmp_path: Path):
    documents = documents_on(recipe, 1000)
    sizes = {lang: sum(len(text.encode()) for _, text in documents[lang]) for lang in documents}
    assert 1000 <= sizes["en"] < 1100
    assert documents["en"][0] == ("g0", ENGLISH[0])
    with pytest.raises(UserError, match="neither a recipe nor a corpus"):
        documents_on(tmp_path, 1000)


def test_text_of_a_corpus_is_what_was_kept_of_the_same_groups(recipe: Path, tmp_path: Path):
    settings = load_recipe(recipe, ["tokens.held_out=50 tokens", "tokens.vocab_size=300"])
    tokens = prepare_tokens(settings, tmp_path, lambda line: None, ranks=1)
    found = documents_on(tmp_path / "corpus" / "two", 600)
    texts = [text for _, text in found["en"]]
    assert 600 <= sum(map(len, texts)) < 700
    assert set(texts) < set(ENGLISH)
    groups = [[group for group, _ in found[lang]] for lang in ("en", "ru")]
    assert groups[1] == groups[0][: len(groups[1])]
    everything = documents_on(tmp_path / "corpus" / "two", 10**6)
    summary = read_json(tmp_path / "corpus" / "two" / "corpus.json")["languages"]
    assert len(everything["ru"]) == summary["ru"]["kept"]["documents"]
    page = page_as_html(tokenizer_page([tokens], None, print))  # the corpus is found beside it
    assert "tokens versus English" in Page(page).said
