"""The house keeps its shape: imports go downwards, public names are the ones meant."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tongues"

# A room may import only from rooms to its left.
ORDER = (
    "errors",
    "quantities",
    "files",
    "cards",
    "randomness",
    "recipe",
    "runs",
    "states",
    "tables",
    "laws",
    "significance",
    "ranks",
    "text",
    "tokens",
    "models",
    "plan",
    "train",
    "study",
    "experts",
    "evaluate",
    "check",
    "report",
    "serve",
    "terminal",
    "cli",
    "__main__",
)

PUBLIC = {
    "tongues.serve": {"Limits"},
    "tongues.evaluate": {
        "Unit",
        "is_task",
        "set_exams",
    },
    "tongues.evaluate.texts": {
        "DocumentLosses",
        "Policy",
        "Window",
        "bits_per_segment",
        "read_texts",
        "resolved",
        "spelling_cautions",
        "windows",
    },
    "tongues.evaluate.tasks": {
        "Exam",
        "Item",
        "ItemFault",
        "ItemScore",
        "NORMALISATIONS",
        "Normalisation",
        "Task",
        "accuracy",
        "chance",
        "choose",
        "correct",
        "count_faults",
        "find_languages",
        "library",
        "load_task",
        "read_items",
        "set_exam",
    },
    "tongues": {"__version__"},
    "tongues.cli": {"main"},
    "tongues.models": {
        "SHAPES",
        "SMALL",
        "TABLE",
        "Anatomy",
        "Shape",
        "find_shape",
        "of_folder",
        "of_shape",
    },
    "tongues.recipe": {
        "Clean",
        "Columns",
        "Division",
        "Drift",
        "Experts",
        "Extend",
        "Files",
        "Grid",
        "Hub",
        "Made",
        "Model",
        "Pilot",
        "Recipe",
        "Study",
        "Sweep",
        "Text",
        "TokenSettings",
        "Train",
        "load_recipe",
        "show_recipe",
    },
    "tongues.train.engine": set(),
    "tongues.plan": {
        "GPUS",
        "Base",
        "Cluster",
        "FlatRange",
        "Gpu",
        "Known",
        "LawsInHand",
        "Option",
        "Plan",
        "Question",
        "Recommendation",
        "ask",
        "gather_laws",
        "make_plan",
        "plan_rows",
        "plan_sentences",
        "read_laws",
        "write_recipe",
    },
    "tongues.tables": {
        "ROLES",
        "Observations",
        "Role",
        "Table",
        "find_columns",
        "number",
        "observe",
        "read_table",
        "select",
    },
    "tongues.report": {
        "Findings",
        "findings",
        "law_figures",
        "plan_figures",
        "sentences",
        "write_figures",
        "write_report",
    },
    "tongues.report.corpus": {"write_corpus_report"},
    "tongues.report.evaluation": {
        "card_section",
        "newest_section",
        "write_cards",
        "write_evaluation_report",
    },
    "tongues.report.tokenizer": {"write_tokenizer_report"},
    "tongues.study": {
        "Cost",
        "State",
        "best_rates",
        "choose",
        "find_launcher",
        "measure_cost",
        "plan_runs",
        "plan_study",
        "plan_sweep",
        "run_all",
        "unfinished",
    },
    "tongues.experts": {"Round", "plan_rounds"},
    "tongues.experts.partition": set(),
    "tongues.experts.ensemble": {
        "Expert",
        "Lineage",
        "Router",
        "Routing",
        "best_experts",
        "describe_expert",
        "fit_router",
        "fit_temperature",
        "load_router",
        "parse_routing",
        "read_lineage",
        "router_file",
        "save_router",
        "verify",
        "write_lineage",
    },
    "tongues.report.experts": {"write_experts_report", "write_partition_page"},
    "tongues.study.pilot": {"Pilot", "plan_pilot", "run_pilot"},
    "tongues.study.launchers": {"Job", "Launcher", "find_launcher"},
    "tongues.text": {
        "Document",
        "Piece",
        "check_text",
        "content_hash",
        "describe_made",
        "find_pieces",
        "hash64",
        "open_piece",
        "text_bytes",
    },
    "tongues.text.reading": {
        "LONGEST",
        "REASONS",
        "Fault",
        "Item",
        "Reason",
        "State",
        "find_files",
        "read_file",
        "read_hub",
    },
    "tongues.text.signals": {
        "BANDS",
        "SIGNATURE",
        "Benchmarks",
        "Identifier",
        "character_signals",
        "load_benchmarks",
        "load_identifier",
        "near_signals",
        "same_language",
        "units",
    },
    "tongues.text.made": {
        "Drift",
        "Language",
        "World",
        "documents",
        "make_family",
        "parallel",
        "shared_order",
        "shared_words",
    },
    "tongues.tokens": {
        "END_ID",
        "Counts",
        "Mixture",
        "Split",
        "Tokens",
        "check_tokens",
        "load_tokenizer",
        "open_part",
        "open_tokens",
        "prepare_tokens",
        "tokenizer_files",
        "vocabulary_size",
    },
    "tongues.laws": {
        "FORMS",
        "PRESETS",
        "Allocation",
        "Comparison",
        "Curve",
        "HoldOut",
        "Law",
        "Leverage",
        "Saving",
        "Savings",
        "about_saving",
        "allocate",
        "compare",
        "compute_of",
        "envelope",
        "fit",
        "frontier",
        "implied_saving",
        "implied_saving_interval",
        "preset",
        "read_laws_file",
        "saved_at_size",
        "savings",
        "tokens_for",
    },
    "tongues.significance": {
        "Chance",
        "Difference",
        "Measured",
        "Signs",
        "WinRate",
        "about_signs",
        "chance",
        "holm",
        "in_words",
        "measured_accuracy",
        "measured_in_words",
        "measured_loss",
        "paired_accuracy",
        "paired_loss",
        "paired_mean",
        "relative_score",
        "sign_test",
        "signs",
        "signs_in_words",
        "win_rates",
    },
    "tongues.laws.solver": {
        "Optimum",
        "Problem",
        "Ties",
        "descend",
        "objective",
        "pose",
        "read_ties",
        "solve",
    },
    "tongues.train": {"Derived", "RunPlan", "derive", "run_of_recipe"},
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imported(path: Path) -> set[str]:
    """The modules of the package that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found.add(node.module or "")
    return {name for name in found if name.split(".")[0] == "tongues"}


def test_every_room_has_its_place() -> None:
    rooms = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in modules()}
    assert rooms - {"__init__"} == set(ORDER)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_only_to_earlier_rooms(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own == "__init__":
        assert not imported(path)
        return
    for module in imported(path):
        room = room_of(module)
        if room:
            assert room == own or ORDER.index(room) < ORDER.index(own), f"{own} imports {module}"


@pytest.mark.parametrize(
    "room",
    [
        "laws",
        "significance",
        "tables",
        "plan",
        "check",
        "cli",
        "recipe",
        "models",
        "study",
        "train",
    ],
)
def test_rooms_that_answer_at_once_bring_no_torch(room: str) -> None:
    code = (
        f"import sys, tongues.{room}; "
        "heavy = {'torch', 'transformers', 'altair', 'scipy', 'pyarrow'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("package", sorted(PUBLIC))
def test_public_names_are_the_ones_meant(package: str) -> None:
    module = importlib.import_module(package)
    assert set(module.__all__) == PUBLIC[package]
    assert all(hasattr(module, name) for name in module.__all__)


def test_every_package_is_listed_with_its_public_names() -> None:
    packages = {
        ".".join(path.parent.relative_to(ROOT).parts) for path in PACKAGE.rglob("__init__.py")
    }
    assert packages == set(PUBLIC)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_are_short_and_say_what_they_offer(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    assigned = [node for node in ast.parse(text).body if isinstance(node, ast.Assign)]
    names = {name.id for node in assigned for name in node.targets if isinstance(name, ast.Name)}
    assert "__all__" in names or path.name == "__main__.py"
