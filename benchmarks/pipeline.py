"""Processor time of `tongues prepare` on 50 MB, next to another version's and to datatrove's.

Run as `python benchmarks/pipeline.py FOLDER`, a checkout of the version to compare with;
`pipeline.txt` holds what it printed. Each way is a process of one thread. datatrove does the same
work: language by py3langid (its own model is downloaded), MinHash of three words with its defaults
and plain runs of word characters (quicker than its own words), tokens of one tokenizer, which it
does not train, as `prepare` does. It reads the shared text next to the
project.
"""

import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, cast

TEXT = Path(__file__).parents[1] / "../shared/data/text"
LANGUAGES = ("en", "vi", "pl", "es", "fr", "sv")
TURNS = 1
RECIPE = """name: fifty
text: {files: {%s}}
tokens: {vocab_size: 16000, held_out: 2%%}
train: {mixture: auto, budget: 1M tokens}
model: {shape: 0.05M}
"""


def spent(command: Sequence[str], **environment: str) -> tuple[float, float, float]:
    """Seconds of the processor, megabytes of memory, and seconds to the first line of a command."""
    before, start, first = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter(), 0.0
    alone = {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    alone |= {"PYTHONUNBUFFERED": "1"}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, env={**os.environ, **alone, **environment}, **pipes) as process:
        lines: list[str] = []
        for line in process.stdout or ():
            first = first or time.perf_counter() - start
            lines.append(line)
    assert process.returncode == 0, "".join(lines)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = sum(getattr(after, key) - getattr(before, key) for key in ("ru_utime", "ru_stime"))
    return seconds, after.ru_maxrss / 1e3, first


def datatrove(source: Path, tokenizer: str, work: Path) -> None:
    """The same work by datatrove, one process."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup.minhash import (
        MinhashConfig,
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.filters import LambdaFilter
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
    signatures = MinhashDedupSignature(folder("signatures"), config, language=words)
    steps: list[list[Any]] = [
        [JsonlReader(str(source)), LambdaFilter(own), JsonlWriter(folder("kept"))],
        [JsonlReader(folder("kept")), signatures],
        [MinhashDedupBuckets(folder("signatures"), folder("buckets"), config=config)],
        [MinhashDedupCluster(folder("buckets"), folder("removed"), config=config)],
        [
            JsonlReader(folder("kept")),
            MinhashDedupFilter(folder("removed")),
            DocumentTokenizer(folder("tokens"), tokenizer_name_or_path=tokenizer),
        ],
    ]
    for number, pipeline in enumerate(steps):
        tasks = config.num_buckets if number == 2 else 1
        LocalPipelineExecutor(
            pipeline, tasks=tasks, workers=1, logging_dir=folder(f"{number}")
        ).run()


def main() -> None:
    """Print each way's seconds of the processor."""
    with tempfile.TemporaryDirectory() as place:
        work, size, files = Path(place), 0, dict[str, str]()
        (work / "text").mkdir()
        for lang in LANGUAGES:
            path = work / "text" / f"{lang}.jsonl"
            with path.open("w", encoding="utf-8") as file:
                for source in sorted(TEXT.glob(f"*/{lang}.jsonl.gz")):
                    for line in gzip.decompress(source.read_bytes()).splitlines():
                        text = json.loads(line)["text"]
                        size += len(text.encode())
                        row = {"text": text, "language": lang}
                        file.write(json.dumps(row, ensure_ascii=False) + "\n")
            files[lang] = str(path)
        recipe = work / "fifty.yaml"
        recipe.write_text(RECIPE % ", ".join(f"{lang}: {path}" for lang, path in files.items()))
        print(f"{date.today()}  {size / 1e6:.1f} MB in {len(LANGUAGES)} languages, one thread")
        own, other = Path(__file__).parents[1], Path(sys.argv[1])
        seconds: dict[str, list[float]] = {"this version": [], "the other version": []}
        for turn in range(TURNS):
            for name, folder in zip(seconds, (own, other), strict=True):
                space = work / f"{name}-{turn}"
                command = [sys.executable, "-m", "tongues", "prepare", str(recipe), "--ranks", "1"]
                command += ["--workspace", str(space)]
                took, memory, first = spent(command, PYTHONPATH=str(folder.resolve()))
                seconds[name].append(took)
                print(
                    f"{name:18} {took:6.1f} s of processor time, {took / size * 1e6:.2f} a MB, "
                    f"at most {memory:.0f} MB, first line after {first:.1f} s",
                    flush=True,
                )
        tokenizer = work / "this version-0" / "tokens" / "fifty" / "tokenizer.json"
        command = [sys.executable, __file__, str(work / "text"), str(tokenizer), str(work / "peer")]
        took, memory, _ = spent(command, PYTHONPATH=str(own))
        ours = min(seconds["this version"])
        print(f"{'datatrove':18} {took:6.1f} s, at most {memory:.0f} MB: {took / ours:.1f} × ours")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        datatrove(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
    else:
        main()
