"""Languages in the names of lm-eval's tasks are those of the catalogue."""

import importlib.util
import re
from pathlib import Path

import pytest

from tongues.evaluate.harness_names import name_and_language
from tongues.languages.catalogue import languages
from tongues.languages.tags import catalogue_tag

# Where lm-eval has a benchmark of the catalogue; of several subjects one.
PLACES = {
    "arc": "okapi/arc_multilingual/arc_*.yaml",
    "belebele": "belebele/belebele_*_*.yaml",
    "global-mmlu": "global_mmlu/full/*/*_anatomy.yaml",
    "global-piqa": "global_piqa/parallel_cloze/*.yaml",
    "mgsm": "mgsm/direct/*.yaml",
    "mmlu-prox": "mmlu_prox/*/*_math.yaml",
    "multiblimp": "multiblimp/*.yaml",
    "paws-x": "paws-x/*.yaml",
    "xcopa": "xcopa/*.yaml",
    "xnli": "xnli/*.yaml",
    "xquad": "xquad/*.yaml",
    "xstorycloze": "xstorycloze/*.yaml",
    "xwinograd": "xwinograd/*.yaml",
}


def test_every_benchmark_of_the_catalogue_is_found_by_its_tags() -> None:
    package = importlib.util.find_spec("lm_eval")
    if package is None or package.origin is None:
        pytest.skip("lm-eval is not installed: pip install 'tongues[eval]'")
    folder = Path(package.origin).parent / "tasks"
    for benchmark, pattern in PLACES.items():
        texts = [path.read_text("utf-8") for path in folder.glob(pattern)]
        names = [name for text in texts for name in re.findall(r"^\"?task\"?: (\w+)$", text, re.M)]
        there = {name_and_language(name)[1] for name in names}
        wanted = {of.tag for of in languages() if benchmark in of.tasks}
        assert wanted - there <= {"ff"}, benchmark  # lm-eval has Nigerian Fulfulde, `fuv`


@pytest.mark.parametrize(
    ("task", "name", "language"),
    [
        ("xcopa_sw", "xcopa", "sw"),
        ("belebele_swh_Latn", "belebele", "sw"),
        ("belebele_hin_Latn", "belebele", "hi-Latn"),
        ("belebele_zho_Hans", "belebele", "zh"),
        ("belebele_zho_Hant", "belebele", "zh-Hant"),
        ("global_piqa_parallel_cloze_por_latn_braz", "global_piqa_parallel_cloze_braz", "pt"),
        ("mmmlu_pt_br_anatomy", "mmmlu_anatomy", "pt"),
        ("global_mmlu_full_fil_anatomy", "global_mmlu_full_anatomy", "fil"),
        ("mmlu_prox_lite_yo_law", "mmlu_prox_lite_law", "yo"),
        ("afrixnli_amh_prompt_1", "afrixnli_prompt_1", "am"),
        ("afrixnli_en_direct_kin", "afrixnli_en_direct", "rw"),
        ("xwinograd_jp", "xwinograd", "ja"),
        ("mlqa_ar_de", "mlqa_ar", "de"),  # a question in German: no region
        ("acp_app_bool", "acp_app_bool", "und"),
        ("kmmlu_hard_law", "kmmlu_hard_law", "und"),
        ("hellaswag", "hellaswag", "und"),
    ],
)
def test_a_name_is_parted(task: str, name: str, language: str) -> None:
    assert name_and_language(task) == (name, language)


def test_languages_are_found_by_any_of_their_codes() -> None:
    said = ["swh", "Swahili", "no", "zh-Hans", "zho_Hant", "nonsense"]
    assert [catalogue_tag(of) for of in said] == ["sw", "sw", "nb", "zh", "zh-Hant", "nonsense"]
