from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec

import numpy as np
import pytest

from tongues.core.errors import UserError
from tongues.experts.partition import distances as module
from tongues.experts.partition.distances import (
    by_typology,
    cosine_distances,
    named,
    nearest_donors,
    typology_distances,
)


def test_cosine_by_hand() -> None:
    features = np.array([[1, 1, 0, np.nan], [1, np.nan, 1, 1], [np.nan] * 4])
    distances = cosine_distances("abc", features)
    # the one feature both know and have, over the norms of what each one knows
    assert distances["a"]["b"] == pytest.approx(1 - 1 / np.sqrt(2 * 3))
    assert distances["a"]["c"] == distances["c"]["b"] == 1
    assert distances["b"]["b"] == 0


def test_names_and_halves_are_kept() -> None:
    distances = named(["no", "nan"], np.array([[0, 0.25], [0.75, 0]]))
    assert distances == {"no": {"no": 0, "nan": 0.5}, "nan": {"no": 0.5, "nan": 0}}


def test_donors_are_the_nearest_known() -> None:
    places = {"a": 0, "b": 5, "c": 1, "d": 8}
    distances = {x: {y: float(abs(places[x] - places[y])) for y in places} for x in places}
    assert nearest_donors(distances, ["a", "b"], ["c", "d"]) == {"c": "a", "d": "b"}
    with pytest.raises(UserError, match="no language to be a donor"):
        nearest_donors(distances, [], ["a"])


needs_data = pytest.mark.skipif(find_spec("lang2vec") is None, reason="lang2vec is not installed")

NAMED = "ar bg de el en es fr hi ja ko ru sw tr ur vi zh"
PUBLISHED = NAMED.split()


@needs_data
@pytest.mark.parametrize(
    ("k", "clusters"),
    [
        (8, "en es, de el, ja ko, hi ur, bg ru, fr ar, tr zh, vi sw"),
        (4, "en es bg ru, ja ko tr zh, de el fr ar, hi ur vi sw"),
        (16, ",".join(PUBLISHED)),
    ],
)
def test_the_published_clusters(k: int, clusters: str) -> None:
    expected = {frozenset(cluster.split()) for cluster in clusters.split(",")}
    assert {frozenset(c) for c in by_typology(PUBLISHED, k).clusters} == expected


@needs_data
def test_the_published_donors() -> None:
    new = ["az", "he", "pl", "sv"]
    distances, _ = typology_distances([*PUBLISHED, *new])
    chosen = nearest_donors(distances, PUBLISHED, new)
    assert chosen == {"az": "tr", "he": "ar", "pl": "ru", "sv": "en"}


@needs_data
def test_codes_are_those_given() -> None:
    partition = by_typology(["zh-Hant", "en-GB", "swa", "cmn"], 2)
    assert set(partition.languages) == {"zh-Hant", "en-GB", "swa", "cmn"}
    distances, _ = typology_distances(["zh", "cmn", "tl", "en"])
    assert distances["zh"]["cmn"] == pytest.approx(0, abs=1e-12)  # the macro-language's features
    assert distances["tl"]["en"] < 1  # under its own code, where the usual one has no features


@needs_data
def test_unknown_languages_and_unknown_features_are_two_things() -> None:
    distances, notes = typology_distances(["en", "nn", "sr", "de", "sk", "pl", "vi"])
    assert distances["sk"]["pl"] < distances["sk"]["vi"] < 1
    for lang, count in (("nn", 0), ("sk", 0), ("sr", 35)):
        filled = "features are known; lang2vec's predictions fill the rest"
        assert f"`{lang}`: {count} of 103 {filled}" in notes
    assert len(notes) == 4
    for lang in ("qaa", "xx", "not a tag"):
        with pytest.raises(UserError, match=f"lang2vec has no language `{lang}`"):
            typology_distances(["en", lang])
    with pytest.raises(UserError) as named:
        typology_distances(["en", "turkish"])
    assert named.value.hint == "did you mean `tur`?"
    far = {"nn": {"en": 1.0, "de": 1.0}}
    with pytest.raises(UserError, match="all languages are equally far from `nn`"):
        nearest_donors(far, ["en", "de"], ["nn"])


def test_without_the_data_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(module, "distribution", missing)
    module.lang2vec_folder.cache_clear()
    with pytest.raises(UserError) as refused:
        typology_distances(["en", "de"])
    module.lang2vec_folder.cache_clear()
    assert "tongues[typology]" in refused.value.hint
