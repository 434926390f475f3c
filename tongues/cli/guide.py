"""The verbs that say what to do: next looks at the folder, doctor at the machine."""

from pathlib import Path

import click

from tongues.cli import options
from tongues.errors import UserError


@click.command()
@options.workspace
@options.as_json
def doctor(workspace: Path, as_json: bool) -> None:
    """Show torch, GPUs, compiler, cores, memory, disk and missing extras.

    The exit code is 1 where something keeps `tongues` from working. It makes no network requests.
    """
    import tongues
    from tongues.terminal import print_json, print_table

    diagnosis = tongues.doctor(workspace)
    if as_json:
        print_json(diagnosis.to_json())
    else:
        print_table([finding.row() for finding in diagnosis.findings])
    if diagnosis.problems:
        names = ", ".join(finding.name for finding in diagnosis.problems)
        raise UserError(f"`tongues` cannot work here yet: {names}", code="problems_found")
    if not as_json:
        options.hint_next(workspace)


@click.command("next")
@click.argument("folder", type=options.PATH, default=Path())
@options.as_json
def next_steps(folder: Path, as_json: bool) -> None:
    """Show what comes next in FOLDER, and why: for its recipes and runs."""
    from dataclasses import asdict

    import tongues
    from tongues.terminal import hint, print_json, print_table

    steps = tongues.next_steps(folder)
    if as_json:
        print_json({"steps": [asdict(step) for step in steps]})
        return
    print_table([{"": x.place, "next": x.command, "because": x.reason} for x in steps])
    hint(steps[0].command)
