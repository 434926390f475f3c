import json
from pathlib import Path

import pytest
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from tests.records import make_run
from tongues.core.errors import UserError
from tongues.runs.record import write_run
from tongues.use.export.gguf import LLAMA_CPP, add_gguf, find_script, known_pre
from tongues.use.export.run import Changes, export_run

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
STEPS = {
    "gpt-2": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "smollm": pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    ),
    "llama-bpe": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"), BYTES]),
    "gpt-4o": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(O200K), "isolated"), BYTES]),
    "qwen2": pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(LLAMA3.replace("{1,3}", "")), "isolated"), BYTES]
    ),
    None: pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r"\w+"), "isolated"), BYTES]),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_pre_tokenizer_is_known_by_its_settings_whatever_the_vocabulary(
    name: str | None, tmp_path: Path
) -> None:
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0, "b": 1, "ab": 2}, merges=[("a", "b")]))
    tokenizer.pre_tokenizer = STEPS[name]
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert known_pre(tmp_path) == name
    plain = json.loads((tmp_path / "tokenizer.json").read_text())
    plain["model"]["byte_fallback"] = True  # of sentencepiece, which has none
    (tmp_path / "tokenizer.json").write_text(json.dumps(plain))
    assert known_pre(tmp_path) == ""


def test_the_script_is_found_or_where_to_get_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LLAMA_CPP, raising=False)
    with pytest.raises(UserError, match="is not named") as caught:
        find_script()
    assert "pip download" in caught.value.hint and LLAMA_CPP in caught.value.hint
    monkeypatch.setenv(LLAMA_CPP, str(tmp_path))
    with pytest.raises(UserError, match="holds no convert_hf"):
        find_script()
    archive = tmp_path / "vendor/llama.cpp"
    archive.mkdir(parents=True)
    (archive / "convert_hf_to_gguf.py").touch()
    assert find_script().parent == archive
    monkeypatch.setenv(LLAMA_CPP, str(archive))
    assert find_script().parent == archive


def test_nothing_is_computed_without_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LLAMA_CPP, str(tmp_path))
    (tmp_path / "run").mkdir()
    write_run(tmp_path / "run", make_run())
    with pytest.raises(UserError, match="holds no convert"):
        export_run(tmp_path / "run", tmp_path, tmp_path / "out", Changes(gguf=True))
    assert not (tmp_path / "out").exists()


def test_a_file_has_the_name_of_the_export_and_not_of_its_scratch_folder(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, said = tmp_path / "llama", list[str]()
    (source / "conversion").mkdir(parents=True)
    (source / "conversion/__init__.py").touch()
    (source / "conversion/base.py").write_text("class TextModel: pass")
    program = "def main():\n import sys\n open(sys.argv[3], 'w').write(' '.join(sys.argv))"
    (source / "convert_hf_to_gguf.py").write_text(program)
    monkeypatch.setenv(LLAMA_CPP, str(source))
    scratch = (trained / "model").rename(trained / ".swg.1.part")
    add_gguf(scratch, "swg", {}, said.append)
    (made,) = scratch.glob("*.gguf")
    _, folder, *options = made.read_text().split()
    assert Path(folder).name == "swg" and options[-2:] == ["--model-name", "swg"]
