"""The verbs that say what to do: next looks at the folder, doctor at the machine."""

from pathlib import Path
from typing import TYPE_CHECKING

from tongues.core.errors import UserError
from tongues.verbs.hints import hint_next
from tongues.verbs.options import AS_JSON, PATH
from tongues.verbs.settings import Verb, argument, command, function, settings
from tongues.verbs.shared import existing_folder, in_workspace

if TYPE_CHECKING:
    from tongues.plan.steps import Step
    from tongues.verbs.actions.results import Diagnosis


@settings
class Doctor(Verb["Diagnosis"]):
    """Show torch, GPUs, compiler, cores, memory, disk and missing extras.

    The exit code is 1 where something keeps `tongues` from working. It makes no network requests.
    """

    work = "doctor:diagnose"
    workspace: Path | str = in_workspace()


@command(Doctor, AS_JSON)
def _doctor(asked: Doctor, *, as_json: bool) -> None:
    from tongues.core.terminal import print_json, print_table

    diagnosis = asked.run()
    if as_json:
        print_json(diagnosis.to_json())
    else:
        print_table([finding.row() for finding in diagnosis.findings])
    if diagnosis.problems:
        names = ", ".join(finding.name for finding in diagnosis.problems)
        raise UserError(f"`tongues` cannot work here yet: {names}", code="problems_found")
    if not as_json:
        hint_next(Path(asked.workspace))


@settings
class NextSteps(Verb["list[Step]"]):
    """Show what comes next in FOLDER, and why: for its recipes and runs.

    The most urgent comes first. Each step has a `command`, a `reason` and the `place` it is for.
    """

    folder: Path | str = argument(PATH, required=False, default=Path())

    def run(self) -> "list[Step]":
        """Find them."""
        from tongues.plan.steps import steps_in

        return steps_in(existing_folder(self.folder))


@command(NextSteps, AS_JSON, name="next")
def _next(asked: NextSteps, *, as_json: bool) -> None:
    from tongues.core.terminal import hint, print_json, print_table

    steps = asked.run()
    if as_json:
        print_json({"steps": [step.to_json() for step in steps]})
        return
    print_table([{"": x.place, "next": x.command, "because": x.reason} for x in steps])
    hint(steps[0].command)


doctor = function(Doctor)
next_steps = function(NextSteps)
