"""From a base and a folder of text to a verdict: what was learned, what was forgotten, how sure.

usage: python examples/speedrun.py BASE LANGUAGE TEXT [BUDGET]
such as: python examples/speedrun.py HuggingFaceTB/SmolLM2-135M sw text '200k tokens'

TEXT is a folder with the text of the language and of the base's, such as `sw/` and `en/`. All that
is made is written below the current folder. Every step can be interrupted, and resumes when it is
run again.
"""

import sys
from pathlib import Path

import tongues

if len(sys.argv) < 4:
    sys.exit(__doc__)
base, language, text, budget = (*sys.argv[1:4], *(sys.argv[4:] or ["200k tokens"]))

# Plan: how much text there is, what it takes, what will come out. The plan is written into a recipe
# next to it, before anything is trained.
recipe = Path(f"{language}.yaml")
if recipe.exists():
    print(f"{recipe} is here and used as it is; for another base, text or budget, remove it")
else:
    draft = tongues.new(base, language, recipe, text=text, budget=budget)
    print("\n".join(draft.lines))

# Check: all that can be wrong is found before the work starts.
checked = tongues.check(recipe)
print(f"memory, about: {checked.sentences()['memory']}")
for caution in checked.cautions:
    print(f"caution: {caution}")

# Prepare: clean documents, a part of them held out, as token shards.
tokens = tongues.prepare(recipe)

# Train: the base learns the new language, while some of its own text is replayed.
run = tongues.train(recipe)

# Evaluate: the run and its base on the same held-out documents.
evaluation = tongues.evaluate(run.name, text=tokens.name, name=run.name)

# The verdict: differences to the base in bits per byte, with 95 % intervals over documents.
scores = evaluation.texts[tokens.name]
for change in scores.forgotten:
    for lang, difference in change.languages.items():
        if difference.low is None:
            print(f"{lang}: {difference.value:+.3f} bits per byte, too few documents to test it")
            continue
        sure = "significant" if difference.significant else "not significant"
        interval = f"[{difference.low:+.3f}, {difference.high:+.3f}]"
        print(f"{lang}: {difference.value:+.3f} {interval} bits per byte against the base, {sure}")

# Report: one page on the run, and what to do next.
print(f"the page: {tongues.report(run)}")
print(f"next: {tongues.next_steps()[0].command}")
