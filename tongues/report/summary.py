"""The title of a page of runs, and what it is about."""

from tongues.core.pages import blocks as b
from tongues.core.pages.blocks import Block, Paragraph
from tongues.core.quantities import counted, show_count
from tongues.core.roles import list_languages
from tongues.laws.observed import size_order
from tongues.report.answer import unmeasured
from tongues.train.study.findings import Findings


def page_title(known: Findings) -> str:
    """From which languages to which; of one run alone with its name."""
    learned = [run for target in known.targets for run in known.runs if run.target == target]
    if not learned:
        return "Runs"
    bases = known.base_languages
    targets = dict.fromkeys(x for run in learned for x in run.targets if x not in bases)
    targets = list_languages(targets or bases)
    title = f"From {list_languages(bases)} to {targets}" if bases else f"Learning {targets}"
    only = known.only
    return f"{only.name}: {title[0].lower()}{title[1:]}" if only else title


def page_lead(findings: Findings) -> list[Block]:
    """How much was run, and what it cannot show."""
    runs, sizes = findings.runs, size_order(findings.runs)
    one = [f"1 run, {sizes[0]}", f"seed {runs[0].seed}", f"{show_count(runs[0].tokens)} tokens"]
    parts = (
        one
        if findings.only
        else [
            counted(len({run.name for run in runs}), "run"),  # one of two languages is there twice
            f"{counted(len(sizes), 'size')}, {' to '.join(dict.fromkeys([sizes[0], sizes[-1]]))}",
            counted(len({run.seed for run in runs}), "seed"),
            f"up to {show_count(max(run.tokens for run in runs))} tokens",
        ]
    )
    if any(findings.ratios):
        parts.append("replay " + ", ".join(f"{ratio * 100:.3g} %" for ratio in findings.ratios))
    doubt = unmeasured(findings)
    return [Paragraph(" · ".join(parts), "lead"), b.Callout("", [doubt]) if doubt else None]
