from importlib.resources import files

import pytest

from tests.golden import inputs
from tongues.core.errors import UserError
from tongues.languages import expected_scripts, find_language, languages
from tongues.languages.catalogue import field_sources, packaged_rows


@pytest.mark.parametrize(
    ("text", "tag"),
    inputs("language-names"),
)
def test_a_language_is_found_by_tag_code_or_name(text: str, tag: str) -> None:
    assert find_language(text).tag == tag


@pytest.mark.parametrize(
    ("text", "near"), [("Swahilli", "Swahili"), ("Bokmål", "Norwegian Bokmål"), ("swx1", "sw")]
)
def test_an_unknown_language_gets_the_nearest_name(text: str, near: str) -> None:
    with pytest.raises(UserError, match="no language") as error:
        find_language(text)
    assert near in error.value.hint


@pytest.mark.parametrize("text", ["xx", "zqj", "xxqq"])
def test_what_is_near_no_name_gets_no_guess(text: str) -> None:
    with pytest.raises(UserError, match="no language") as error:
        find_language(text)
    assert error.value.hint.startswith("write a tag or name, such as")


def test_what_the_tables_have_of_swahili() -> None:
    swahili = find_language("sw")
    assert (swahili.code, swahili.script, swahili.byte_premium) == ("swh", "Latn", 1.069)
    assert "Narrow Bantu" in swahili.family
    assert swahili.family[0] == "Atlantic-Congo"
    largest, counted, wiki, removed = swahili.texts
    assert counted == swahili.counted_text
    assert (counted.source, counted.words) == ("FineWeb-2", 569_542_024)
    assert swahili.text_bytes == counted.bytes == 3_311_669_706
    assert (removed.source, removed.words) == ("FineWeb-2, removed", None)
    assert (largest.source, wiki.source) == ("HPLT 3.0", "FineWiki")
    assert largest.bytes > counted.bytes > wiki.bytes
    assert swahili.identified_by == ("GlotLID", "py3langid")
    assert {"xcopa", "belebele", "xnli"} <= set(swahili.tasks)
    assert "TZ" in swahili.countries
    assert swahili.bible is None
    assert find_language("aai").bible == 1.0


def test_the_catalogue_is_wide_and_its_tags_lead_back() -> None:
    every = languages()
    assert len({language.code for language in every}) >= 7000
    assert sum(bool(language.texts) for language in every) >= 1800
    assert len({language.tag for language in every}) == len(every)
    for language in every[::97]:
        assert find_language(language.tag) == language
        assert find_language(f"{language.code}_{language.script}") == language


def test_the_scripts_of_a_language_are_expected() -> None:
    assert expected_scripts("sw") == {"Latn"}
    assert expected_scripts("sr") == {"Cyrl", "Latn"}
    assert expected_scripts("sr-Latn") == {"Latn"}
    assert expected_scripts("zh-Hant") == {"Hani"}
    assert expected_scripts("qaa") == frozenset()


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("Mon", ("mn", "mnw")),  # the code of Mongolian, and a name
        ("Ga", ("ga", "gaa")),
        ("Tonga", ("tog", "toi", "to")),  # another name of three
    ],
)
def test_what_may_be_several_languages_is_refused(text: str, tags: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match="several") as error:
        find_language(text, "--language")
    assert error.value.where == "--language"
    assert all(f"`{tag}`" in error.value.hint for tag in tags)
    assert expected_scripts(text) == frozenset()


def test_a_code_or_a_first_name_is_one_language() -> None:
    assert [find_language(text).tag for text in ("mon", "MON", "ga")] == ["mn", "mn", "ga"]
    assert find_language("Malay").tag == "ms"  # others have it as another name
    assert find_language("Ewe").tag == "ee"  # the code says the same


def test_a_tag_may_name_a_script_that_no_table_has_the_language_in() -> None:
    here, usual = find_language("pa_Arab_PK"), find_language("pa")
    assert (here.tag, here.script, here.code) == ("pa-Arab", "Arab", usual.code)
    assert (here.name, here.family, here.other_codes) == (
        usual.name,
        usual.family,
        usual.other_codes,
    )
    assert (here.byte_premium, here.text_bytes, here.speakers) == (None, 0, None)
    assert not here.identified_by and not here.tasks
    assert find_language(here.tag) == here
    assert find_language("knc_Arab").tag == "kr-Arab"
    assert find_language("ur-Aran") == find_language("ur")  # Nastaliq is Arabic
    assert expected_scripts("pa-Arab") == {"Arab"}
    assert expected_scripts("sr-Latn-RS") == {"Latn"}
    with pytest.raises(UserError, match="no language"):
        find_language("sw-Abcd")


def test_kinship_counts_shared_groups() -> None:
    de, nl, en, ru, fi = map(find_language, ("de", "nl", "en", "ru", "fi"))
    assert de.kinship(de) == 1
    assert de.kinship(nl) > de.kinship(en) > de.kinship(ru) > 0 == de.kinship(fi)
    assert de.kinship(ru) == ru.kinship(de)


def test_every_field_has_a_source() -> None:
    rows = field_sources()
    named = " ".join(row["field"] for row in rows)
    for field in find_language("sw").to_json():
        assert field in named
    tables = {path.name for path in files("tongues.languages").iterdir()}
    assert {name for name in tables if name.endswith((".gz", ".csv"))} <= {
        "sources.csv",
        "catalogue.tsv.gz",
        *named.replace(",", "").split(),
    }
    assert all(row["licence"] and row["version"] and row["reference"] for row in rows)
    assert not any("SA" in row["licence"] or "NC" in row["licence"] for row in rows)


def test_every_corpus_is_of_a_language_of_the_catalogue_and_has_a_source() -> None:
    rows = packaged_rows("texts.csv")
    named = " ".join(row["source"] for row in field_sources())
    assert {row["source"] for row in rows} == {"FinePDFs", "FineWiki", "HPLT 3.0", "MADLAD-400"}
    assert all(row["source"] in named for row in rows)
    assert all(find_language(row["language"]).tag == row["language"] for row in rows)
    assert find_language("en").text_bytes == 66_000_000_000_000  # FineWeb's
    assert find_language("ff").text_bytes == 0  # Wikipedia alone
