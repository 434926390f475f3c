"""Processor time of the stages of `tongues prepare` on 50 MB, next to datatrove's.

Run as `python benchmarks/pipeline.py`; `pipeline.txt` holds what it printed. Each way is a process
of one thread that gets the same files and the same tokenizer, made beforehand from a tenth of the
text. datatrove drops by the language of a document (py3langid; its own model is downloaded),
repetition (Gopher's filter; nothing else of ours has a counterpart that knows more than English),
near copies (MinHash of three words with its defaults), and encodes. It gets plain runs of word
characters, quicker than its own words. Ours does what a recipe does without settings: segments of
documents are identified, held-out text is drawn, and runs of 13 words are searched for across the
split. It reads the shared text next to the project.
"""

import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any, cast

TEXT = Path(__file__).parents[1] / "../shared/data/text"
LANGUAGES = ("en", "vi", "pl", "es", "fr", "sv")
TURNS = 2
WAYS = {"ours": "this version", "datatrove": "datatrove"}
ALONE = {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


def spent() -> float:
    """Seconds of the processor that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def ours(source: Path, tokenizer: Path, work: Path) -> dict[str, float]:
    """Seconds of each stage of `prepare`; `start` is that of the imports."""
    from tongues.core.ranks import Rank
    from tongues.recipe import TextRecipe
    from tongues.text import find_sources
    from tongues.text.tokens.prepare import STAGES, run_stage

    files = {path.stem: str(path) for path in sorted(source.glob("*.jsonl"))}
    settings = {"base": str(tokenizer), "held_out": "2%"}
    recipe = TextRecipe.model_validate({"name": "a", "text": {"files": files}, "tokens": settings})
    sources = find_sources(recipe.text)
    seconds, before = {"start": spent()}, spent()
    for stage in STAGES:
        run_stage(Rank(0, 1), lambda _: None, stage, recipe, work, sources)
        seconds[stage] = spent() - before
        before = spent()
    return seconds


def datatrove(source: Path, tokenizer: Path, work: Path) -> dict[str, float]:
    """Seconds of each step of the same work by datatrove."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup.minhash import (
        MinhashConfig,
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.filters import GopherRepetitionFilter, LambdaFilter
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.tokens import DocumentTokenizer
    from datatrove.pipeline.writers import JsonlWriter
    from datatrove.utils.hashing import HashConfig
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    from benchmarks.duplicates import PlainWords, hash_in_reach

    identify = LanguageIdentifier.from_model_file(MODEL_FILE).classify
    config = MinhashConfig(n_grams=3, hash_config=HashConfig(hash_fc=hash_in_reach()))

    def own(document: Any) -> bool:
        return identify(document.text)[0] == document.metadata["language"]

    def folder(name: str) -> str:
        return str(work / name)

    words = cast("str", PlainWords())  # it takes a tokenizer too, though annotated as a name
    filters = [LambdaFilter(own), GopherRepetitionFilter(language=words)]
    signatures = MinhashDedupSignature(folder("signatures"), config, language=words)
    encoding = DocumentTokenizer(folder("tokens"), tokenizer_name_or_path=str(tokenizer))
    steps: dict[str, list[Any]] = {
        "filter": [JsonlReader(str(source)), *filters, JsonlWriter(folder("kept"))],
        "sign": [JsonlReader(folder("kept")), signatures],
        "match": [MinhashDedupBuckets(folder("signatures"), folder("buckets"), config=config)],
        "cluster": [MinhashDedupCluster(folder("buckets"), folder("removed"), config=config)],
        "encode": [
            JsonlReader(folder("kept")),
            MinhashDedupFilter(folder("removed")),
            encoding,
        ],
    }
    seconds, before = {"start": spent()}, spent()
    for name, pipeline in steps.items():
        tasks = config.num_buckets if name == "match" else 1
        LocalPipelineExecutor(pipeline, tasks=tasks, workers=1, logging_dir=folder(name)).run()
        seconds[name] = spent() - before
        before = spent()
    return seconds


def write_text(folder: Path) -> tuple[int, dict[str, list[str]]]:
    """The text as a file for each language; its bytes, and its documents."""
    size, texts = 0, dict[str, list[str]]()
    folder.mkdir()
    for lang in LANGUAGES:
        rows = texts[lang] = []
        with (folder / f"{lang}.jsonl").open("w", encoding="utf-8") as file:
            for source in sorted(TEXT.glob(f"*/{lang}.jsonl.gz")):
                for line in gzip.decompress(source.read_bytes()).splitlines():
                    rows.append(json.loads(line)["text"])
                    size += len(rows[-1].encode())
                    row = {"text": rows[-1], "language": lang}
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return size, texts


def run(way: str, *places: Path) -> tuple[dict[str, float], float]:
    """Seconds by stage of a way in a process of its own, and its megabytes of memory."""
    found = [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, **ALONE, "PYTHONPATH": os.pathsep.join(found)}
    command = [sys.executable, __file__, way, *map(str, places)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print each way's seconds of the processor."""
    from tongues.text.tokens.tokenizer import save_tokenizer, train_tokenizer

    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        size, texts = write_text(work / "text")
        sample = {lang: rows[::10] for lang, rows in texts.items()}
        sizes = dict.fromkeys(sample, 1_000_000)
        save_tokenizer(train_tokenizer(sample, sizes, 16_000), work / "tokenizer")
        tokenizer = work / "tokenizer" / "tokenizer.json"
        print(f"{date.today()}  {size / 1e6:.1f} MB in {len(LANGUAGES)} languages, one thread")
        totals = {way: list[float]() for way in WAYS}
        for turn in range(TURNS):
            for way in totals:
                space = work / f"{way}-{turn}"
                start = time.perf_counter()
                seconds, memory = run(way, work / "text", tokenizer, space)
                took = time.perf_counter() - start
                totals[way].append(sum(seconds.values()))
                shown = ", ".join(f"{stage} {each:.1f}" for stage, each in seconds.items())
                print(
                    f"{WAYS[way]:13} {totals[way][-1]:6.1f} s of processor time ({shown}), "
                    f"{took:.0f} s by the clock, at most {memory:.0f} MB",
                    flush=True,
                )
        best = median(totals["ours"])
        for way, each in totals.items():
            print(
                f"{WAYS[way]:13} median {median(each):6.1f} s [{min(each):.1f}, {max(each):.1f}], "
                f"{median(each) / size * 1e6:.2f} a MB, {median(each) / best:.2f} × ours"
            )


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in WAYS:
        kind = {"ours": ours, "datatrove": datatrove}[sys.argv[1]]
        by_stage = kind(Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        print(json.dumps([by_stage, most]))
    else:
        main()
