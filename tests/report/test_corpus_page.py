import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden import inputs
from tests.report.pages import Page
from tongues.core.errors import UserError
from tongues.core.files import read_json, write_json
from tongues.core.pages import page_as_html, write_page
from tongues.recipe import load_recipe
from tongues.report import default_folder, kind_of
from tongues.report.corpus import corpus_page, identified_table
from tongues.text.summary import TextSize, read_summary
from tongues.text.tokens import prepare_tokens
from tongues.text.words import show_dropped

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"

HEBREW = (
    "בראשית ברא אלהים את השמים ואת הארץ. והארץ היתה תהו ובהו וחשך על פני תהום מספר {}",
    "ויאמר אלהים יהי אור ויהי אור. וירא אלהים את האור כי טוב בפעם ה {}",
    "העיר הגדולה שוכנת על שפת הים ויש בה נמל ישן ושוק של דגים, רחוב {}",
    "הילדים הלכו בבוקר אל בית הספר ולמדו לקרוא ולכתוב, כיתה {}",
)
ENGLISH = "The children went to school in the morning and learned to read and to write, class {}."
ENGLISH_TEXTS = [ENGLISH.format(number) for number in range(5)]
SHORT_TEXTS = ["קצר", "קצר מאד"]

RECIPE: str = inputs("recipes")["corpus page"]


def write_text(folder: Path) -> None:
    """Sixty Hebrew documents, five English ones, two short, a copy, and faults."""
    folder.mkdir()
    texts = [sentence.format(number) for number in range(15) for sentence in HEBREW]
    texts += [*ENGLISH_TEXTS, *SHORT_TEXTS, texts[0]]
    texts.append(f"{EVIL} {HEBREW[2].format('עשרים')} {HEBREW[3].format('אחת')}")
    lines = [json.dumps({"text": text}, ensure_ascii=False).encode() for text in texts]
    lines += [b'{"text": "\xff\xfe"}', f"no JSON {EVIL}".encode(), b'{"text": " "}']
    (folder / "web.jsonl").write_bytes(b"\n".join(lines) + b'\n{"text": "hal')


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("workspace")
    write_text(place / "text")
    (place / "small.yaml").write_text(RECIPE.replace("[text]", f"[{place / 'text'}]"))
    prepare_tokens(load_recipe(place / "small.yaml"), place, lambda line: None, ranks=1)
    return place / "corpus" / "small"


@pytest.fixture(scope="module")
def report(corpus: Path) -> Path:
    return write_page(corpus_page(corpus, print), corpus.parents[1] / "report")


@pytest.fixture(scope="module")
def page(report: Path) -> Page:
    return Page(report.read_text())


def test_the_page_stands_alone(report: Path, page: Page):
    assert not page.open
    assert page.loads
    assert all((report.parent / place).is_file() for place in page.loads)
    ids = {value for _, name, value in page.attributes if name == "id"}
    assert set(page.anchors) <= ids


def test_the_page_says_what_came_in_and_what_went(page: Page):
    said = page.said
    assert said.startswith("Corpus small")
    assert "72 documents" in said
    sizes = [sum(len(text.encode()) for text in part) for part in (ENGLISH_TEXTS, SHORT_TEXTS)]
    assert f"other language5{sizes[0]} B" in said and f"short2{sizes[1]} B" in said
    assert "4 places that could not be read" in said
    assert "fewer than 30 characters" in said
    assert "less than 50 % of it is in this language" in said
    assert "the last line, half written" in said
    assert "not JSONweb.jsonl" in said
    assert "bytes per token" in said
    assert "(unreadable_places)" in said
    assert "Of few groups, or large ones, its sources have other shares" in said


def test_text_from_outside_is_shown_and_nothing_else(page: Page):
    assert EVIL in page.said
    assert "img" not in page.tags or not any(name == "onerror" for _, name, _ in page.attributes)
    assert page.tags.isdisjoint({"iframe", "object", "embed", "link"})


def test_samples_name_their_language_and_find_their_direction(page: Page):
    assert ("blockquote", "lang", "he") in page.attributes
    assert ("blockquote", "lang", "") in page.attributes  # of what is in another language
    assert ("blockquote", "dir", "auto") in page.attributes
    assert HEBREW[0].format(0) in page.said
    assert ENGLISH.format(0) in page.said


def test_numbers_and_figures_lie_beside_the_page(report: Path, corpus: Path):
    numbers = read_json(report.parent / "report.json")
    assert numbers["languages"] == read_json(corpus / "corpus.json")["languages"]
    held_out = read_json(corpus.parents[1] / "tokens/small/tokens.json")
    assert numbers["held_out"] == held_out["splits"]
    documents = held_out["languages"]["he"]["valid"]["documents"]
    assert 1 <= numbers["held_out"]["he"]["groups"] <= documents
    sizes = numbers["held_out"]["he"]["sources"][f"{corpus.parents[1]}/text/web.jsonl"]
    assert sizes["valid"] == held_out["languages"]["he"]["valid"]["bytes"]
    first, second, *_ = (report.parent / "figures/kept.csv").read_text().splitlines()[1:]
    hebrew = numbers["languages"]["he"]
    share = hebrew["kept"]["bytes"] / hebrew["read"]["bytes"]
    assert first == f"Hebrew,kept,False,{share}"  # first, and what was dropped behind it
    assert second.startswith("Hebrew,") and ",True," in second


def test_shares_of_labels_are_those_of_the_summary(corpus: Path):
    summary = read_summary(corpus)
    rows = identified_table(summary["languages"]).rows
    assert ["Hebrew", "Hebrew 92.8 %, English 7.2 %"] in [row[:2] for row in rows]  # 5 of 69


def test_the_first_screen_says_what_to_fix_and_what_went(corpus: Path, tmp_path: Path):
    place = tmp_path / "corpus" / "first"
    place.mkdir(parents=True)
    summary = read_json(corpus / "corpus.json")
    write_json(place / "corpus.json", summary)
    shutil.copytree(corpus.parents[1] / "tokens/small", tmp_path / "tokens/first")
    for lang in summary["languages"]:
        shutil.copytree(corpus / lang, place / lang)
    shutil.copy(corpus / "selected.parquet", place)
    said = Page(page_as_html(corpus_page(place, print))).said
    begin = said[: said.index("Held-out text")]
    assert "What to fix" in begin and "(few_groups)" in begin
    assert ENGLISH_TEXTS[0][:40] in begin


def test_a_corpus_without_tokens_has_its_page_and_says_what_is_not_known(
    corpus: Path, tmp_path: Path
):
    place = tmp_path / "corpus" / "alone"
    place.mkdir(parents=True)
    summary = read_json(corpus / "corpus.json")
    write_json(place / "corpus.json", summary)
    text = page_as_html(corpus_page(place, print))
    assert "Corpus alone" in Page(text).said and "bytes per token" not in text
    known = Page(text).said.count("not known")
    for about in summary["languages"].values():
        about["foreign"] = None
    write_json(place / "corpus.json", summary)
    text = page_as_html(corpus_page(place, print))
    assert Page(text).said.count("not known") > known


def test_a_language_of_which_nothing_was_read_is_told(corpus: Path):
    summary = read_summary(corpus)
    nothing = TextSize(documents=0, bytes=0)
    about = summary["languages"]["he"]
    about.update({"read": nothing, "kept": nothing, "dropped": {}, "labels": {}, "scripts": {}})
    about.update({"identified": {}, "foreign": None, "samples": {}})
    del summary["languages"]["qaa"]
    assert not identified_table(summary["languages"]).rows


def test_what_is_no_whole_account_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match=r"there is no corpus.json"):
        read_summary(tmp_path)
    for text, said in (("{", "cannot be read"), ('{"languages": {}}', "not a complete summary")):
        (tmp_path / "corpus.json").write_text(text)
        with pytest.raises(UserError, match=said):
            read_summary(tmp_path)


def test_places_are_told_apart(corpus: Path, make_study: Callable[..., Path], tmp_path: Path):
    tokens = corpus.parents[1] / "tokens" / "small"
    runs = make_study(tmp_path / "runs", shapes=("0.1M",), seeds=(1,), targets=("near",))
    assert kind_of([corpus]) == "corpus"
    assert kind_of([tokens, tokens / "tokenizer.json"]) == "tokenizer"
    assert kind_of([runs]) == "runs"
    assert default_folder([corpus], "corpus") == Path("reports/small-corpus")
    assert default_folder([tokens / "tokenizer.json"], "tokenizer").name == "small-tokenizer"
    assert default_folder([runs], "runs") == Path("reports/runs")
    assert default_folder([runs / "a", runs / "b"], "runs") == Path("reports/a-and-b")
    with pytest.raises(UserError, match="another kind"):
        kind_of([corpus, tokens])
    with pytest.raises(UserError, match="one corpus"):
        kind_of([corpus, corpus])


def test_the_page_counts_as_prepare_does(corpus: Path, page: Page):
    manifest = read_json(corpus.parents[1] / "tokens/small/tokens.json")
    for counts in manifest["languages"].values():
        assert f"{counts['train']['bytes_per_token']:.2f}" in page.said
    summary = read_summary(corpus)
    amount = TextSize(documents=1, bytes=1)
    reasons = ("other language", "short", "benchmark", "copy", "near copy")
    summary["languages"]["he"]["dropped"] = dict.fromkeys(reasons, amount)
    dropped = summary["languages"]["he"]["dropped"]
    assert show_dropped(dropped) == "; ".join(f"{why} 1, 1 B" for why in reasons)
