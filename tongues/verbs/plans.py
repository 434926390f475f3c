"""What to train by laws."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tongues.errors import UserError
from tongues.languages import find_language
from tongues.laws import Law
from tongues.laws.answer import FitAnswer
from tongues.plan import Plan, ask, make_plan, read_laws, write_recipe
from tongues.plan.language import language_level, laws_of_language, read_own_runs
from tongues.plan.laws import PUBLISHED_PAIR
from tongues.recipe import RecipeSource, load_recipe
from tongues.verbs.shared import pairs

Number = float | str  # a number, or one as people write it, such as `1.4B` or `20%`


def plan(
    laws: FitAnswer | Law | Path | str | Sequence[Law | Path | str] = (),
    *,
    target: str | None = None,
    flops: Number | None = None,
    hours: Number | None = None,
    cost: Number | None = None,
    target_loss: Number | None = None,
    gpu: str | None = None,
    gpus: Number | None = None,
    mfu: Number | None = None,
    price: Number | None = None,
    params: Number | None = None,
    tokens: Number | None = None,
    bases: Sequence[str] | Mapping[str, str] = (),
    available_tokens: Number | None = None,
    available_text: Path | str | None = None,
    language: str | None = None,
    runs: Path | str | None = None,
    bytes_per_token: Number | None = None,
    replay: str | Sequence[Number] | None = None,
    max_forgetting: Number | None = None,
    base_loss: Number | None = None,
    write: Path | str | None = None,
    like: RecipeSource | None = None,
) -> Plan:
    """How large a model to train, on how much, from which base, and at what price.

    One of `flops`, `hours`, `cost` and `target_loss`, or both `params` and `tokens`, is given.

    laws: what `fit` returned, laws, names of published ones, or files of laws; published ones
        without any, at the level that the prior forecasts where there is a `language`.
    target: the language to learn, where there are laws of several.
    flops: compute to spend. hours: on all GPUs. cost: in US$. target_loss: in nats per token.
    gpu: what trains, such as `h100`. gpus: how many. mfu: the share of their peak speed that is
        reached. price: of a GPU and hour, in US$.
    params, tokens: where they are settled.
    bases: checkpoints to continue from: hub ids, folders, or `llama=8B@15T`, or by name.
    available_tokens: unique text there is. available_text: the same as `3GB` or a file or
        folder, with its language or its bytes per token.
    language: whose text there is as much as the catalogue knows of, unless that is given. runs: a
        CSV file of own runs in it: bytes, loss in bits per byte, params and epochs.
    replay: shares of source text to mix in.
    max_forgetting: the rise of the base's own loss that replay must not exceed, such as 0.01.
    base_loss: the base's loss on the target before training, in nats per token; with a language
        and no law, losses on it are in bits per byte.
    write: a file for a recipe of the advice; what it had to assume joins the plan's warnings.
    like: the recipe that it takes name, text and tokens from.
    """
    if like is not None and write is None:
        what, hint = "--for needs `--write`", "such as `--write plan.yaml`"
        raise UserError(what, hint=hint)
    language = find_language(language, "--language").tag if language is not None else None
    given = laws.laws if isinstance(laws, FitAnswer) else laws
    single = isinstance(given, Law | Path | str)
    text = None if available_text is None else str(available_text)
    own = read_own_runs(Path(runs)) if runs else ()
    names = [given] if single else list(given)
    at_level = language is not None and all(name in PUBLISHED_PAIR for name in names)
    if runs and not at_level:
        hint = "add `--language sw`, or fit a law of them by `tongues fit`"
        raise UserError("is for a language without a law", where="--runs", hint=hint)
    level = language_level(language, text, own) if language and at_level else None
    if level and language:
        known = laws_of_language(level, language, [str(name) for name in names or PUBLISHED_PAIR])
    else:
        known = read_laws(names, target)
    if target and like is None and not any(one.law.target for one in known.known):
        raise UserError(
            "none of these laws is of one language",
            where="--target",
            hint="it chooses among the languages of a file of `tongues fit`; leave it out",
            code="target_unused",
        )
    shares = replay if replay is None or isinstance(replay, str) else ",".join(map(str, replay))
    numbers = {"flops": flops, "hours": hours, "cost": cost, "target_loss": target_loss}
    numbers |= {"gpus": gpus, "mfu": mfu, "price": price, "params": params, "tokens": tokens}
    numbers |= {"bytes_per_token": bytes_per_token, "base_loss": base_loss}
    numbers |= {"available_tokens": available_tokens, "max_forgetting": max_forgetting}
    question = ask(
        gpu=gpu,
        bases=pairs(bases),
        available_text=text,
        language=language,
        replay=shares,
        **numbers,
    )
    if level:  # losses are in bits per byte, which any tokenizer has
        asked = {"target_loss": question.target_loss, "base_loss": question.base_loss}
        asked = {name: value and value * level.nats for name, value in asked.items()}
        question = replace(question, nats_per_bit=level.nats, **asked)
    made = make_plan(known, question, level=level)
    if write is None:
        return made
    recipe = None if like is None else load_recipe(like)
    cautions = write_recipe(made, Path(write), recipe, target)
    return replace(made, warnings=(*made.warnings, *cautions))
