import sys
from functools import lru_cache
from itertools import islice
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from tests.golden import inputs
from tests.text.corpora import select_again, text, text_of, write_rows
from tests.text.real import DATA, needs_text, texts
from tests.text.test_select import one_file, selected, why
from tongues import recipe
from tongues.core.errors import UserError
from tongues.text.signals import counts_as, large_others, load_identifier, same_language
from tongues.text.signals.language import UNKNOWN, Identification, Identifier, segments
from tongues.text.summary import read_summary

SWAHILI = (
    "Hapo zamani za kale paliishi mvuvi mmoja pamoja na mke wake katika kijiji kidogo kando "
    "ya bahari. Kila siku asubuhi alikwenda kuvua samaki na jioni alirudi nyumbani. Watoto wake "
    "walimsaidia kushona nyavu na kuuza samaki sokoni, na jirani zao waliwapenda sana. "
)
ENGLISH = (
    "A long time ago a fisherman lived with his wife in a small village by the sea. Every "
    "morning he went out to catch fish and in the evening he came home again. His children "
    "helped him to mend the nets and to sell the fish at the market every week. "
)
HEBREW = "לפני שנים רבות חי דייג אחד עם אשתו בכפר קטן על שפת הים, ובכל בוקר יצא לדוג דגים. "
CHINESE = "很久以前，有一个渔夫和他的妻子住在海边的一个小村庄里。每天早上他都出海打鱼，晚上回家。"


@lru_cache
def ours() -> Identifier:
    return load_identifier(None)


@lru_cache
def theirs() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def real_segments(each: int) -> list[bytes]:
    pieces: list[bytes] = []
    for path in sorted(DATA.glob("*/*.jsonl.gz")):
        some = texts(path.parent.name, path.name.removesuffix(".jsonl.gz"), each)
        found = (piece for text in some for piece in segments(normalize("NFC", text)))
        pieces += islice(found, each)
    return pieces


@needs_text
def test_labels_are_those_of_py3langid_on_real_text() -> None:
    pieces = real_segments(each=15)
    expected = [theirs().classify(piece)[0] for piece in pieces]
    assert [theirs().nb_classes[number] for number in ours().classify(pieces)] == expected


@settings(deadline=None)  # the first example loads the models
@given(st.lists(st.text(min_size=1, max_size=80).map(lambda x: normalize("NFC", x)), max_size=5))
def test_labels_are_those_of_py3langid_on_any_text(texts: list[str]) -> None:
    texts = [*texts, *[text.upper() for text in texts], ENGLISH.upper()]
    numbers = ours().classify([normalize("NFC", text).encode() for text in texts])
    for said, number in zip(texts, numbers.tolist(), strict=True):
        ranked = dict(theirs().rank(said))
        if number == len(ours().labels):
            assert max(ranked.values()) <= 2.01 / len(theirs().nb_classes)  # theirs abstains
        else:
            best = max(ranked.values())
            assert ranked[theirs().nb_classes[number]] == pytest.approx(best, abs=2e-4)


@given(st.text(alphabet=st.sampled_from("aé字😀 \n"), max_size=1500))
def test_segments_join_to_the_text_and_are_whole_characters(text: str) -> None:
    pieces = list(segments(text))
    assert b"".join(pieces) == text.encode()
    assert "".join(piece.decode() for piece in pieces) == text
    assert all(0 < len(piece) <= 360 for piece in pieces)
    if len(text.encode()) >= 150:
        assert all(len(piece) >= 90 for piece in pieces)


def test_short_lines_are_judged_together_and_long_ones_apart() -> None:
    assert len(list(segments("a line of thirty bytes or so.\n" * 6))) == 1
    long_line = "word " * 200
    pieces = list(segments(long_line))
    assert len(pieces) == 4 and all(piece.endswith(b" ") for piece in pieces)


def test_a_text_is_what_most_of_it_is() -> None:
    found = ours().identify([SWAHILI * 3, ENGLISH * 3, HEBREW * 3, CHINESE * 3])
    assert [one.label for one in found] == ["sw", "en", "he", "zh"]
    assert all(one.shares == {one.label: 1.0} for one in found)


@pytest.mark.parametrize("lines", [1, 3, 8])
def test_english_inside_a_swahili_document_is_measured(lines: int) -> None:
    swahili, english = [SWAHILI * 2] * 10, [ENGLISH * 2] * lines
    text = "\n".join([*swahili[:5], *english, *swahili[5:]])
    true = len("\n".join(english)) / len(text)
    (found,) = ours().identify([text])
    assert found.label == "sw" and list(found.shares) == ["sw", "en"]
    assert found.shares["en"] == pytest.approx(true, abs=0.02)
    assert sum(found.shares.values()) == pytest.approx(1)


def test_a_share_below_a_hundredth_is_not_told() -> None:
    text = "\n".join([SWAHILI * 40, ENGLISH * 1, SWAHILI * 90])
    (found,) = ours().identify([text])
    assert list(found.shares) == ["sw"] and 0.98 < found.shares["sw"] < 1


NAMES = "".join(
    f"{a}{b}{c}\n"
    for a in ("HTML", "SVG")
    for b in ("Text", "Image", "Link", "Media")
    for c in ("Element", "Event", "Listener", "Range", "Source", "Track", "Observer", "Request")
)


def test_a_list_of_names_counts_as_the_text_around_it() -> None:
    """Before: such a page was English, and was dropped from the text of its language."""
    before, between, alone, foreign, sentences = ours().identify(
        [
            f"{SWAHILI}\n{NAMES * 3}",
            f"{NAMES}{SWAHILI}\n{NAMES}",
            NAMES * 2,
            f"{SWAHILI}\n{NAMES}{ENGLISH * 3}",
            f"{SWAHILI}\n{ENGLISH * 3}".replace(", ", ",\n"),
        ]
    )
    assert before.shares == between.shares == {"sw": 1.0}
    assert alone.label not in ("sw", UNKNOWN)  # nothing around it: as it is identified
    assert list(foreign.shares) == ["en", "sw"] and foreign.shares["sw"] < 0.25
    assert sentences.label == "en"  # parts of sentences are no list


@needs_text
def test_a_text_is_judged_alike_in_any_company() -> None:
    some = [piece.decode() for piece in real_segments(each=3)] + [SWAHILI * 20, "", "a", CHINESE]
    together = ours().identify(some)
    assert together == [ours().identify([text])[0] for text in some]
    assert together[::-1] == ours().identify(some[::-1])


def test_nothing_to_tell_a_language_by_is_unknown() -> None:
    empty, spaces = ours().identify(["", " \n "])
    assert empty == Identification(UNKNOWN, {})
    assert spaces == Identification(UNKNOWN, {UNKNOWN: 1.0})
    assert ours().identify([]) == []


@pytest.mark.parametrize(("tag", "label"), inputs("tags-alike"))
def test_tags_of_one_language_match(tag: str, label: str) -> None:
    assert same_language(tag, label) and same_language(label, tag)


@pytest.mark.parametrize(
    ("tag", "label"), [("sw", "en"), ("da", "no"), ("qaa", "en"), ("sw", "und")]
)
def test_tags_of_different_languages_do_not(tag: str, label: str) -> None:
    assert not same_language(tag, label)


def test_it_can_be_asked_whether_a_language_is_known() -> None:
    assert all(ours().knows(tag) for tag in ("sw", "nb", "zh-Hant", "sr-Latn", "tl"))
    assert not any(ours().knows(tag) for tag in ("qaa", "ch", "und"))


@pytest.mark.parametrize(("tag", "text"), inputs("texts-in-scripts"))
def test_a_language_is_known_in_the_scripts_in_which_it_is_identified(tag: str, text: str) -> None:
    (identified,) = ours().identify([text])
    assert ours().knows(tag) == same_language(tag, identified.label)


def test_labels_with_scripts_name_those_that_are_known() -> None:
    named = Identifier("fastText", ("hi", "hi-Latn", "sr-Cyrl"), ours().classify)
    assert [named.knows(tag) for tag in ("hi-Latn", "sr", "sr-Latn")] == [True, True, False]
    assert {"sw", "en", "fil", "zh"} <= ours().languages
    assert ours().name.startswith("py3langid ")


@pytest.fixture(scope="module")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    fasttext = pytest.importorskip("fasttext", reason="fastText is not installed")
    folder = tmp_path_factory.mktemp("fasttext")
    lines = [f"__label__swh_Latn {SWAHILI}", f"__label__eng_Latn {ENGLISH}"] * 20
    lines += [f"__label__cmn_Hans {CHINESE}"] * 20
    (folder / "text").write_text("\n".join(lines) + "\n", encoding="utf-8")
    small = {"dim": 8, "epoch": 20, "minn": 2, "maxn": 3, "bucket": 2000, "thread": 1}
    model = fasttext.train_supervised(str(folder / "text"), lr=0.5, verbose=0, **small)
    model.save_model(str(folder / "small.bin"))
    return folder / "small.bin"


def test_a_fasttext_model_identifies_too(small_model: Path) -> None:
    identifier = load_identifier(small_model)
    assert identifier.languages == {"sw", "en", "zh-Hans"}
    assert identifier.name.startswith("fastText small.bin ")
    assert identifier.knows("zh-Hant") and not identifier.knows("de")
    mixed, english = identifier.identify(["\n".join([SWAHILI * 4, ENGLISH * 2]), ENGLISH])
    assert mixed.label == "sw" and mixed.shares["en"] == pytest.approx(1 / 3, abs=0.05)
    assert english.label == "en"


def test_no_model_file_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("fasttext_pybind", reason="fastText is not installed")
    with pytest.raises(UserError, match="cannot be read"):
        load_identifier(tmp_path / "missing.bin")
    (tmp_path / "text.bin").write_text("no model at all")
    with pytest.raises(UserError, match="is not a fastText model"):
        load_identifier(tmp_path / "text.bin")


def test_missing_fasttext_is_said_with_the_way_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "fasttext_pybind", None)
    with pytest.raises(UserError) as caught:
        load_identifier(tmp_path / "glotlid.bin")
    assert "pip install 'tongues[glotlid]'" in caught.value.hint


@needs_text
def test_other_large_languages_are_dropped_from_an_unknown_one(tmp_path: Path) -> None:
    """Before: 246 of 246 kept. Swahili serves as text of a Bantu language that is not known."""
    assert not load_identifier(None).knows("bem")
    good, foreign = (
        texts("bible", "sw", 123),
        [*texts("bible", "en", 60), *texts("bible", "fr", 63)],
    )
    settings = one_file(tmp_path, [*good, *foreign], "bem", language=0.5)
    corpus, selection = selected(settings, tmp_path)
    fates = why(selection)
    assert fates[:123].count("kept") >= 122
    assert fates[123:].count("other language") >= 120
    _, kept, lines = select_again(settings, corpus.path)
    assert any("(unknown_language)" in line and "de, en, es, fr" in line for line in lines)
    about = read_summary(corpus.path)["languages"]["bem"]
    assert not about["known"] and about["foreign"] == pytest.approx(0, abs=0.01)
    assert len(kept.kept) == fates.count("kept")


def test_relatives_of_large_languages_are_not_taken_for_them() -> None:
    assert "de" not in large_others("gsw") and "en" in large_others("gsw")
    assert "it" not in large_others("fur")
    assert large_others("wo") >= {"en", "fr"}
    assert large_others("qaa") == frozenset()  # nothing is known of it
    assert counts_as("gsw", "de", known=False) and not counts_as("gsw", "ru", known=False)
    assert not counts_as("de", "en", known=True)


def test_a_language_has_thresholds_of_its_own(tmp_path: Path) -> None:
    rows = ["short", text(1), text(2)]
    files = {lang: str(write_rows(tmp_path / f"{lang}.jsonl", rows)) for lang in ("de", "ga")}
    clean = {"characters": 100, "languages": {"ga": {"characters": "off", "digits": 0.4}}}
    settings = text_of(files, clean)
    assert recipe.Text.model_validate(settings.model_dump(mode="json")) == settings
    _, selection = selected(settings, tmp_path)
    assert why(selection) == ["short", "kept", "kept", "kept", "kept", "kept"]
    assert selection.thresholds == {"de": {"characters": 100}, "ga": {"digits": 0.4}}


@pytest.mark.parametrize(
    ("languages", "says"), inputs("rows")["test_wrong_thresholds_of_a_language_are_refused"]
)
def test_wrong_thresholds_of_a_language_are_refused(languages: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        text_of({"de": "x.txt"}, {"languages": languages})


def test_length_alone_drops_nothing(tmp_path: Path) -> None:
    """Before: the longest documents went first, as `repetition` grew with length."""
    rows = [text(seed, 60 + 150 * (seed % 50)) for seed in range(150)]
    clean = {"repetition": "on", "repeated_lines": "on", "symbols": "on", "digits": "on"}
    _, selection = selected(one_file(tmp_path, rows, **clean), tmp_path)
    assert set(why(selection)) == {"kept"}
