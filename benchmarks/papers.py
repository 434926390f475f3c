"""What two papers found at scale, next to what the same designs find here in minutes.

    python benchmarks/papers.py [zheng2024 | blevins2024]

With a paper's name, its scaled-down twin on synthetic languages is trained first: `transfer.py`
(Zheng et al. 2024) or `experts.py` (Blevins et al. 2024; `experts.py --text` is that on real ones).
Without one, the tables are those of the twins' kept results. The designs at full scale are the
recipes of `docs/examples/papers`. Losses are in nats per token; published perplexities are averages
over languages, of which the logarithm is taken.
"""

import re
import subprocess
import sys
from datetime import date
from math import log
from pathlib import Path

from tongues.core.pages import text_table

HERE = Path(__file__).parent
TWINS = {"zheng2024": "transfer.py", "blevins2024": "experts.py"}
SEED, DENSE = 14.74, 12.97  # perplexity of XGLM-1.7B and of the dense model, tables 1 and 7
PERPLEXITY = {  # with 10.5B tokens; the partition here has as many languages in a cluster
    "dense": ("dense", "", DENSE),
    "TF-IDF, k = 8, one expert": ("topics-4", "language", 12.70),
    "TF-IDF, k = 8, all experts": ("topics-4", "tfidf", 12.60),
    "typology, k = 8, two languages each": ("typology-4", "language", 12.19),
    "an expert for each language, k = 16": ("languages", "language", 12.94),
}
FORGOTTEN = {  # share of pairs of expert and language above the base, section 6.4 and appendix C
    "TF-IDF experts worse than the base, %": ("topics-4", 47.7),
    "typological experts worse than the base, %": ("typology-4", 83.6),
    "experts of one language worse than the base, %": ("languages", 89.4),
}
TRANSFER = {  # sections 4.1 and 5.2, figure 4
    "compute or tokens saved at equal loss, %": ("tokens saved by CPT, {}", "25 to 50"),
    "rise of the source's loss without replay": ("source loss rises, {}, no replay", "1.28 (1.4B)"),
    "the same with 20 % replay": ("source loss rises, {}, 20 % replay", "below 0"),
}


def loss(partition: str, routing: str, text: str) -> float:
    """Nats per token of a row of `experts.py`."""
    found = re.search(rf"^{partition} +{routing} *[\d.]+ +([\d.]+)", text, re.MULTILINE)
    assert found, f"{partition} {routing}"
    return float(found[1])


def main() -> None:
    """Print both tables and keep them."""
    made, real = ((HERE / name).read_text() for name in ("experts.txt", "experts_real.txt"))
    rows: list[dict[str, str]] = []
    for name, (partition, routing, published) in PERPLEXITY.items():
        row = {"nats per token minus the base": name, "XGLM-1.7B": f"{log(published / SEED):+.3f}"}
        for column, text in (("synthetic languages", made), ("real text", real)):
            row[column] = f"{loss(partition, routing, text) - loss('base', '', text):+.3f}"
        rows.append(row)
    for name, (partition, published) in FORGOTTEN.items():
        row = {"nats per token minus the base": name, "XGLM-1.7B": f"{published}"}
        for column, text in (("synthetic languages", made), ("real text", real)):
            found = re.search(rf"^{partition}: .*?\(([\d.]+)%\)", text, re.MULTILINE)
            row[column] = found[1] if found else ""
        rows.append(row)
    of_transfer = (HERE / "transfer.txt").read_text()
    others: list[dict[str, str]] = []
    for name, (start, published) in TRANSFER.items():
        row = {"English to Chinese": name, "published": published}
        for near in ("near", "far"):
            found = re.search(
                rf"^{re.escape(start.format(near))}.*? ([-\d.]+ \[.*\])$", of_transfer, re.MULTILINE
            )
            row[f"a {near} language"] = found[1] if found else ""
        others.append(row)
    lines = [f"{date.today()}  {(__doc__ or '').splitlines()[0]}", ""]
    lines += ["Blevins et al. 2024", text_table(rows), "", "Zheng et al. 2024", text_table(others)]
    print("\n".join(lines))
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if asked := sys.argv[1:2]:
        if asked[0] not in TWINS:
            raise SystemExit(f"no paper is named `{asked[0]}`; use {' or '.join(TWINS)}")
        subprocess.run([sys.executable, str(HERE / TWINS[asked[0]])], check=True)
    main()
