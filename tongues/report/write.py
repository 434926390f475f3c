"""From run directories to a folder with the page, its figures and its numbers."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tongues.report.claims import claims
from tongues.report.figures import figures
from tongues.report.findings import Findings, findings
from tongues.report.folder import check_folder, write_folder
from tongues.report.page import page
from tongues.report.verdicts import Claim
from tongues.report.words import sentences
from tongues.roles import list_languages
from tongues.runs import find_runs, read_run, table

__all__ = ["write_report"]


def write_report(
    places: Sequence[Path],
    out: Path,
    title: str = "",
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write a report on the finished runs at or below `places`; returns its `index.html`.

    An earlier report at `out` is replaced, any other filled folder refused. The title says by
    default from which language to which. `progress` is told in a few words what is being done.
    """
    check_folder(out)
    progress("reading runs")
    found = findings(table(places))
    tested, drawn = claims(found), figures(found)
    title = title or _title(found)
    settings, versions = _common(places)
    body = page(found, tested, drawn, title, settings, versions)
    numbers = _numbers(found, tested, title, versions)
    return write_folder(out, title, body, drawn, numbers, progress)


def _title(found: Findings) -> str:
    targets = (
        list_languages(
            dict.fromkeys(
                lang for run in found.runs for lang in run.targets if run.target in found.targets
            )
        )
        if found.targets
        else ""
    )
    if found.base_languages and targets:
        return f"From {list_languages(found.base_languages)} to {targets}"
    return f"Learning {targets}" if targets else "Runs"


def _common(places: Sequence[Path]) -> tuple[dict[str, Any], dict[str, str]]:
    """The settings all finished runs share, and the versions that trained them and drew this."""
    records = [read_run(path) for path in find_runs(places)]
    records = [record for record in records if record.status == "finished"]
    first = records[0].settings
    shared = {
        key: value
        for key, value in first.items()
        if value not in (None, {}, []) and all(r.settings.get(key) == value for r in records)
    }
    trained: dict[str, set[str]] = {}
    for record in records:
        for name, number in record.versions.items():
            trained.setdefault(name, set()).add(number)
    versions = {name: ", ".join(sorted(numbers)) for name, numbers in trained.items()}
    return shared, versions | {"altair": version("altair")}


def _numbers(
    found: Findings, tested: Sequence[Claim], title: str, versions: Mapping[str, str]
) -> dict[str, Any]:
    """The findings as plain JSON values."""
    estimates = {
        "saved": [
            {"target": t.target, "replay": t.replay, "share": t.saved and asdict(t.saved)}
            | {"ahead": asdict(t.ahead), "share_by_ends": t.by_ends and asdict(t.by_ends)}
            | {"pairs": len(t.pairs), "saturated": t.saturated}
            for t in found.transfers
        ],
        "nearer": [asdict(nearer) for nearer in found.nearer],
        "forgetting": [
            {"lang": f.lang, "target": f.target, "replay": f.replay}
            | {"rise": asdict(f.rise), "peak": asdict(f.peak)}
            for f in found.forgetting
        ],
        "replay": [asdict(effect) for effect in found.replay_effects],
        "claims": [asdict(claim) | {"verdict": claim.verdict} for claim in tested],
        "fitting_errors": {t: compared.to_json() for t, compared in found.compared.items()},
        "laws_by_final_losses": {f.target: sorted(f.by_ends) for f in found.laws},
        "laws": {
            fitted.target: {
                strategy: {k: v for k, v in law.to_json().items() if k != "draws"}
                for strategy, law in fitted.laws.items()
            }
            for fitted in found.laws
        },
        "envelopes": {
            fitted.target: {
                strategy: {"params": power.params, "interval": power.interval, "range": power.range}
                for strategy, power in fitted.powers.items()
            }
            for fitted in found.laws
        },
    }
    head = {"title": title, "versions": dict(versions), "sentences": sentences(found)}
    return json.loads(json.dumps(head | {"left_out": list(found.left_out)} | estimates))
