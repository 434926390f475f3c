"""Peak memory of runs beside what `tongues check` said of them, each run a process of its own.

Some steps of every run, with evaluations and a checkpoint, as `tongues train` does them.

usage: python benchmarks/memory.py [PLACE]    what PLACE holds already is not done again
"""

import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

from tongues.check import check_recipe
from tongues.recipe import load_recipe

VOCABULARY, STEPS = 8192, 4
RECIPE = f"""
name: memory
text:
  synthetic: {{seed: 1, size: 6 MB, languages: {{qaa: {{}}}}}}
tokens: {{vocab_size: {VOCABULARY}, held_out: 40000 tokens}}
model: {{shape: 1.4M}}
train: {{mixture: {{qaa: 100%}}, budget: 30k tokens, num_evals: 2, checkpoint_every: 1 seconds}}
"""
RUNS = (  # shape, context, samples, precision, compile, another setting
    ("0.4M", 128, 64, "bfloat16", "off", ""),
    ("1.4M", 256, 16, "bfloat16", "on", ""),
    ("3M", 512, 16, "bfloat16", "on", ""),
    ("5M", 256, 16, "bfloat16", "on", ""),
    ("5M", 256, 16, "bfloat16", "off", ""),
    ("5M", 256, 16, "float32", "on", ""),
    ("5M", 256, 16, "float32", "off", ""),
    ("12M", 256, 16, "bfloat16", "on", ""),
    ("22M", 256, 16, "bfloat16", "on", ""),
    ("22M", 256, 16, "bfloat16", "off", "train.recompute=true"),
    ("22M", 256, 16, "bfloat16", "off", "train.micro_batch=1024 tokens"),
)
CODE = """
import sys
from pathlib import Path
from tongues.recipe import load_recipe
from tongues.train import run_of_recipe
from tongues.train.progress import peak_memory
from tongues.train.run import train

recipe, workspace, *settings = sys.argv[1:]
train(run_of_recipe(load_recipe(recipe, settings)), Path(workspace), threads=1)
print(peak_memory("cpu"))
"""


def measure(place: Path, name: str, settings: list[str]) -> tuple[int, int]:
    """Bytes foretold and held at the peak."""
    recipe, done = place / "memory.yaml", place / f"{name}.txt"
    if not done.is_file():
        child = [sys.executable, "-c", CODE, str(recipe), str(place), *settings]
        done.write_text(subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True).stdout)
    ((_, derived),) = check_recipe(load_recipe(recipe, settings), place).runs
    return derived.memory, int(done.read_text())


def main() -> None:
    """Print a line a run."""
    place = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    (place / "memory.yaml").write_text(RECIPE)
    command = [sys.executable, "-m", "tongues", "prepare", str(place / "memory.yaml")]
    subprocess.run([*command, "--workspace", str(place)], check=True, capture_output=True)
    print(f"{date.today()}, vocabulary {VOCABULARY:,}, one thread; MB\n")
    print("shape  context  samples  precision  compiled  foretold  held   off")
    for shape, context, samples, precision, compiled, other in RUNS:
        name = f"{shape}-{context}-{samples}-{precision}-{compiled}-{other.split('=')[0]}"
        batch = context * samples
        settings = [f"train.run={name}", f"model.shape={shape}", f"train.context={context} tokens"]
        settings += [f"train.batch={batch} tokens", f"train.budget={STEPS * batch} tokens"]
        settings += [f"train.precision={precision}", f"train.compile={compiled}"]
        foretold, held = measure(place, name, settings + ([other] if other else []))
        print(
            f"{shape:5}  {context:7}  {samples:7}  {precision:9}  {compiled:8}  "
            f"{foretold / 1e6:8,.0f}  {held / 1e6:5,.0f}  {foretold / held - 1:+4.0%}  "
            f"{other}",
            flush=True,
        )


if __name__ == "__main__":
    main()
