import csv
import json
from pathlib import Path

from tongues.experts.partition.partition import Partition, of_languages
from tongues.experts.partition.tree import by_tree
from tongues.pages import as_text, write_page
from tongues.report.experts.partition import cluster_table, partition_lead, partition_page

PLACES = {"qaa": 0, "qab": 1, "qac": 7, "qad": 9, "qae": 30}
DISTANCES = {a: {b: float(abs(PLACES[a] - PLACES[b])) for b in PLACES} for a in PLACES}
TEXT = {"qaa": 4e6, "qab": 3e6, "qac": 2e6, "qad": 1e6, "qae": 5e5}


def rows_of(out: Path, name: str) -> list[dict[str, str]]:
    with (out / "figures" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_tree_of_languages(tmp_path: Path) -> None:
    partition = by_tree("gradient-similarity", DISTANCES, 2, notes=("`qae` is far",))
    page = write_page(partition_page(partition, TEXT), tmp_path / "page")
    text = page.read_text(encoding="utf-8")
    assert "The text of 5 languages in 2 clusters, by gradient similarity" in text
    assert '<span class="lang">qae</span> is far' in text
    assert sorted(path.name for path in (page.parent / "figures").glob("*.svg")) == [
        "distances.svg"
    ]
    assert len(rows_of(page.parent, "distances")) == 20
    numbers = json.loads((page.parent / "report.json").read_text(encoding="utf-8"))
    assert Partition.from_json({name: numbers[name] for name in partition.to_json()}) == partition


def test_topics_spread_languages_over_clusters(tmp_path: Path) -> None:
    shares = ({"qaa": 0.75, "qab": 1.0}, {"qaa": 0.25, "qab": 0.0})
    partition = Partition("topics", (("qaa", "qab"),) * 2, shares)
    page = write_page(partition_page(partition, TEXT), tmp_path / "page")
    drawn = {(row["cluster"], row["language"]): row for row in rows_of(page.parent, "shares")}
    assert set(drawn) == {("0", "qaa"), ("0", "qab"), ("1", "qaa")}
    assert float(drawn["1", "qaa"]["tokens"]) == 1e6
    text = page.read_text(encoding="utf-8")
    assert as_text([cluster_table(partition, TEXT)]).splitlines() == [
        "cluster  languages        tokens  of all",
        "      0  qab, qaa 75.0 %      6M  85.7 %",
        "      1  qaa 25.0 %           1M  14.3 %",
    ]
    assert "1.71 times" in text  # (0.75 · 4 + 3) of 7 million tokens, times 2


def test_one_cluster_has_a_page_too(tmp_path: Path) -> None:
    partition = of_languages("dense", [["qaa"]])
    assert partition_lead(partition) == "The text of 1 language in one cluster, for one model."
    write_page(partition_page(partition, TEXT), tmp_path / "page")


def test_distances_of_topics_know_no_clusters_and_no_tree(tmp_path: Path) -> None:
    halves = (dict.fromkeys(PLACES, 0.5),) * 2
    partition = Partition("topics", (tuple(PLACES),) * 2, halves, distances=DISTANCES)
    page = write_page(partition_page(partition, TEXT), tmp_path / "page")
    assert {row["kind"] for row in rows_of(page.parent, "distances")} == {"distance"}
    assert "order of the merges" not in page.read_text(encoding="utf-8")
