"""The verbs that say what is known and what to do: of languages, the folder, the machine."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING

from tongues.core.errors import UserError
from tongues.core.terminal import echo
from tongues.verbs.hints import hint_next
from tongues.verbs.options import AS_JSON, PATH, one_thread
from tongues.verbs.settings import Verb, argument, command, function, option, settings
from tongues.verbs.shared import existing_folder, in_workspace, memory_bytes

if TYPE_CHECKING:
    from tongues.languages import Language
    from tongues.languages.facts import LanguageFacts
    from tongues.plan.steps import Step
    from tongues.verbs.actions.results import Diagnosis


_ROWS = 20  # of a list
_OPTIONAL = ("byte premium", "Bible", "family", "speakers", "tasks", "script")  # first to go


@settings
class Languages(Verb["LanguageFacts | tuple[Language, ...]"]):
    """Show what is known of LANGUAGE, or list languages, offline.

    LANGUAGE is a tag, code or name: `sw`, `swh_Latn`, `Swahili`. A list has the most text first.
    """

    language: str | None = argument(required=False, default=None)
    _: KW_ONLY
    family: str = option(default="")
    script: str = option(default="")
    task: str = option(default="")
    min_text: int | str | None = option(metavar="SIZE", default=None)

    def run(self) -> "LanguageFacts | tuple[Language, ...]":
        """What is known of the language, or the languages that fit, the most text first."""
        from tongues.languages.catalogue import find_language
        from tongues.languages.facts import language_facts, select_languages

        least = memory_bytes(self.min_text, "--min-text")
        family, script, task = (word.strip() for word in (self.family, self.script, self.task))
        if self.language is None:
            return select_languages(family=family, script=script, task=task, min_text=least or 0)
        if family or script or task or least is not None:
            raise UserError("conditions are for a list", hint="give a language, or conditions")
        return language_facts(find_language(self.language))


@command(Languages, AS_JSON)
def _languages(asked: Languages, *, as_json: bool) -> None:
    one_thread()
    from tongues.core.terminal import hint, print_json, print_table
    from tongues.languages import describe

    answer = asked.run()
    if isinstance(answer, tuple):
        if as_json:
            print_json({"languages": [of.to_json() for of in answer]})
            return
        print_table(describe.language_rows(answer[:_ROWS]), optional=_OPTIONAL)
        if len(answer) > _ROWS:
            hint(f"{len(answer) - _ROWS:,} more: `--json` has all")
        return
    if as_json:
        print_json(answer.to_json())
        return
    from tongues.core.pages import as_text

    echo(as_text(describe.facts_blocks(answer)))
    hint(f"tongues plan --language {answer.language.tag} --gpu h100 --budget '24 hours'")


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
    print_table([{"": x.place, "next": x.line, "because": x.reason} for x in steps])
    hint(steps[0].line)


languages = function(Languages)
doctor = function(Doctor)
next_steps = function(NextSteps)
