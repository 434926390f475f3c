"""Language experts: an evaluation of ensembles by every routing, against one dense model.

The models are the base of all, the dense model, and each partition by each routing. A partition
that was trained with several random seeds is scored as their mean.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from tongues.core.errors import Caution, UserError
from tongues.evaluate.comparing import text_scores
from tongues.evaluate.documents import held_out_documents, read_texts
from tongues.evaluate.evaluation import (
    NATS_PER_TOKEN,
    EvaluatedModel,
    Evaluation,
    ExpertCell,
    ExpertScores,
)
from tongues.evaluate.losses import DocumentLosses, Policy, mean_losses
from tongues.evaluate.outcome import build_evaluation
from tongues.evaluate.runner import EvalSpec, Results, Unit, evaluate
from tongues.evaluate.tasks import ItemFault, count_faults
from tongues.experts.ensemble.ensemble import Ensemble, open_ensemble
from tongues.experts.ensemble.lineage import Lineage, expert_folder, read_lineage
from tongues.experts.ensemble.places import find_model
from tongues.experts.ensemble.routing import ONE_MODEL, ROUTINGS, Routing
from tongues.experts.heldout import base_shares, same_tokenizer, unseen_documents
from tongues.experts.partition.partition import Partition
from tongues.text import Document
from tongues.text.tokens import Tokens, load_tokenizer, open_tokens
from tongues.train.base import model_folder

_MOST = 1000  # documents of a language of other text
_CALLED = 200  # tokens by which a text's language is asked for


@dataclass(frozen=True, slots=True)
class _Setting:
    partition: str
    routing: str  # empty for one model alone
    ensembles: tuple[str, ...]  # their names
    unknown: frozenset[str] = frozenset()  # languages that it cannot score

    @property
    def name(self) -> str:
        return f"{self.partition}@{self.routing}" if self.routing else self.partition

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(replace(self, partition=name).name for name in self.ensembles)


def default_routings(k: int) -> list[Routing]:
    """What is worth comparing for this number of experts."""
    if k == 1:
        return [ONE_MODEL]
    return [variant for routing in ROUTINGS for variant in routing.variants(k)]


def evaluate_experts(
    ensembles: Mapping[str, Sequence[Path]],
    text: str,
    workspace: Path,
    folder: Path,
    *,
    scored: int,
    context: int,
    other: str | None = None,
    memory: int | None = None,
    device: str | None = None,
    dtype: str | None = None,
    watch: Callable[..., None] = lambda share, *words: None,
    say: Callable[[str], None] = lambda line: None,
) -> Evaluation:
    """Score held-out text with all ensembles of one recipe by all routings; kept in `folder`.

    Every expert reads every document once. Losses are in nats per token of the text's tokenizer; a
    base model with another one reads the same text in its own tokens. ensembles: folders by
    partition, one for each random seed; all are compared with `dense`, if there is one, and those
    with added languages with `before`. text: the name of prepared tokens. scored: tokens of a
    language, in whole documents. context: tokens of a window. other: files or prepared tokens to
    score in place of what `text` holds out, as `read_texts` takes them; their languages need no
    expert. memory: bytes of weights to hold at most; None: any. say: receives lines for users.
    """
    tokens = open_tokens(workspace / "tokens" / text)
    lineages = {partition: list(map(read_lineage, each)) for partition, each in ensembles.items()}
    same_tokens = _check_tokens(ensembles, lineages, tokens, workspace)
    everyone = list(chain(*lineages.values()))
    tokenizer = load_tokenizer(tokens.tokenizer_path)
    if other:
        found, text = _other_text(other, everyone, workspace, say), other
        documents = {lang: _first(own, tokenizer, scored) for lang, own in found.items()}
    else:
        unseen = unseen_documents(tokens, everyone, workspace)
        documents = held_out_documents(tokens, unseen, tokens=scored)
    settings = _settings(ensembles, lineages, documents.keys(), workspace / "ensembles")
    unknown = {member: one.unknown for one in settings for member in one.members}
    spec = EvalSpec({text: documents}, policy=Policy(context), unknown=unknown)
    placed = {"memory": memory, "device": device, "dtype": dtype}
    results = evaluate(_models(settings), spec, workspace, folder, **placed, watch=watch)
    if results.spec.faults:
        fault = results.spec.faults[0]
        hint = f"{fault.sample}; train it again"
        raise UserError(f"{fault.reason}, {fault.place}", where=fault.source, hint=hint)
    base, *names = [one.name for one in settings]
    read = results.texts.items()
    counts = {u.language: of.tokens for u, of in read if same_tokens or u.model != base}
    losses = _losses(results, text, settings, counts)
    dense = next((one.name for one in settings if one.partition == "dense"), None)
    pairs = [(name, dense) for name in (base, *names) if dense and name != dense]
    bases, added = dict.fromkeys(names, base), _added(settings, losses)
    scores = ExpertScores(
        base=base,
        same_tokenizer=same_tokens,
        base_shares=base_shares(base, list(documents), workspace),
        context=context,
        train_tokens={
            lang: of["train"]["tokens"] for lang, of in tokens.counts.items() if lang in documents
        },
        cells=_cells(results, text, settings, lineages, counts),
        partitions={
            partition: Partition.from_json(each[0].partition)
            for partition, each in lineages.items()
        },
        unknown={
            partition: _called_unknown(open_ensemble(each[0], workspace), documents, tokenizer)
            for partition, each in ensembles.items()
            if len(lineages[partition][0].experts) > 1
        },
    )
    return replace(
        build_evaluation(replace(results, spec=replace(results.spec, texts={}))),
        models=_described(settings, results.models),
        texts={text: text_scores(losses, pairs, bases, unit=NATS_PER_TOKEN, added=added)},
        experts=scores,
    )


def _other_text(
    source: str, lineages: Sequence[Lineage], workspace: Path, say: Callable[[str], None]
) -> dict[str, list[Document]]:
    """Documents of each language that a user names; doubts and what is left out are said."""
    unread, doubts = list[ItemFault](), list[Caution]()
    about = {"fault": unread.append, "caution": doubts.append, "say": say}
    found = read_texts(source, workspace, limit=_MOST, lineages=lineages, **about)
    for line in (*(f"caution: {doubt}" for doubt in doubts), *count_faults(unread)):
        say(line)
    return found


def _first(documents: Sequence[Document], tokenizer: Tokenizer, most: int) -> list[Document]:
    """The first documents, until they have that many tokens."""
    lengths = (len(tokenizer.encode(of.text, add_special_tokens=False)) for of in documents)
    ends = accumulate(lengths, initial=0)
    return [of for of, start in zip(documents, ends, strict=False) if start < most]


def _called_unknown(
    ensemble: Ensemble, documents: Mapping[str, Sequence[Document]], tokenizer: Tokenizer
) -> dict[str, float]:
    """The share of each language's documents that the router knows no language of."""
    router, shares = ensemble.router, dict[str, float]()
    if router is None:
        return shares
    for lang, own in documents.items():
        read = (tokenizer.encode(of.text, add_special_tokens=False).ids[:_CALLED] for of in own)
        called = [router.language(router.filter.read(np.array(ids, int))) for ids in read]
        shares[lang] = called.count("unknown") / len(called)
    return shares


def _settings(
    ensembles: Mapping[str, Sequence[Path]],
    lineages: Mapping[str, Sequence[Lineage]],
    languages: Collection[str],
    store: Path,
) -> list[_Setting]:
    """The base, then every partition by each routing; store: the folder of ensembles by name."""
    base = next(iter(lineages.values()))[0].base
    settings = [_Setting(base, "", (base,))]
    for partition, places in ensembles.items():
        known = set.intersection(*(set(of.languages) for of in lineages[partition]))
        k = len(lineages[partition][0].experts)
        there = (one.relative_to(store) if one.is_relative_to(store) else one for one in places)
        names = tuple(map(str, there))
        for routing in default_routings(k):
            unknown = frozenset(languages) - known if routing.needs_language else frozenset[str]()
            if unknown == frozenset(languages):
                continue
            settings.append(_Setting(partition, str(routing) if k > 1 else "", names, unknown))
    return settings


def _models(settings: Sequence[_Setting]) -> list[str]:
    """What is scored, each once; the routings of an ensemble follow each other."""
    members: dict[str, list[str]] = {}
    for setting in settings:
        for name, member in zip(setting.ensembles, setting.members, strict=True):
            members.setdefault(name, []).append(member)
    return list(dict.fromkeys(chain(*members.values())))


def _described(
    settings: Sequence[_Setting], models: Sequence[EvaluatedModel]
) -> list[EvaluatedModel]:
    """The settings as models; what is known of the first member is so of the others."""
    known = {model.name: model for model in models}
    return [
        replace(known[of.members[0]], name=of.name, partition=of.partition, members=of.members)
        for of in settings
    ]


def _check_tokens(
    ensembles: Mapping[str, Sequence[Path]],
    lineages: Mapping[str, Sequence[Lineage]],
    tokens: Tokens,
    workspace: Path,
) -> bool:
    """Whether the base has the text's tokenizer, as all experts must."""
    for partition, each in lineages.items():
        for folder, lineage in zip(ensembles[partition], each, strict=True):
            if same_tokenizer(expert_folder(lineage.experts[0], workspace), tokens.tokenizer_path):
                continue
            what = f"its experts have another tokenizer than the text in {tokens.path}"
            hint = "train it again, or prepare the text with its `tokenizer.json` by `tokens.base`"
            raise UserError(what, where=str(folder), hint=hint)
    base = next(iter(lineages.values()))[0].base
    place = model_folder(find_model(base, workspace)[1])
    return same_tokenizer(place, tokens.tokenizer_path)


def _losses(
    results: Results, text: str, settings: Sequence[_Setting], tokens: Mapping[str, np.ndarray]
) -> dict[str, dict[str, DocumentLosses]]:
    """The losses of each setting by language, in the mean over its members.

    They are shared out over these tokens of the documents of each language.
    """
    losses = results.texts
    means: dict[str, dict[str, DocumentLosses]] = {}
    for setting in settings:
        own = means[setting.name] = {}
        for lang in results.spec.texts[text]:
            units = [Unit(member, text, lang) for member in setting.members]
            if all(unit in losses for unit in units):
                own[lang] = mean_losses([replace(losses[u], tokens=tokens[lang]) for u in units])
    return means


def _added(
    settings: Sequence[_Setting], losses: Mapping[str, Mapping[str, DocumentLosses]]
) -> dict[str, dict[str, str]]:
    """What a setting with added languages is compared with in each language: the ensemble before.

    By the same routing, all of fewer experts for some of more; where that could not score the
    language, by the default routing.
    """
    before = {one.routing: one.name for one in settings if one.partition == "before"}
    added: dict[str, dict[str, str]] = {}
    for one in settings[1:] if before else ():
        if one.partition == "before":
            continue
        ways = (one.routing, one.routing.partition(":")[0], "filter:2", "")
        names = [before[way] for way in ways if way in before]
        added[one.name] = {
            lang: next(name for name in names if lang in losses[name]) for lang in losses[one.name]
        }
    return added


def _cells(
    results: Results,
    text: str,
    settings: Sequence[_Setting],
    lineages: Mapping[str, Sequence[Lineage]],
    tokens: Mapping[str, np.ndarray],
) -> list[ExpertCell]:
    losses, cells = results.texts, []
    each = ((partition, *both) for partition, of in lineages.items() for both in enumerate(of))
    for partition, place, lineage in each:
        own = [one for one in settings if one.partition == partition]
        for lang in results.spec.texts[text]:
            units = [Unit(one.members[place], text, lang) for one in own]
            read = (losses[unit] for unit in units if unit in losses)
            if alone := next((of for of in read if of.of_experts), None):
                count = float(tokens[lang].sum())
                base = float(losses[Unit(settings[0].name, text, lang)].nats.sum())
                cells += [
                    ExpertCell(
                        partition=partition,
                        ensemble=own[0].ensembles[place],
                        expert=expert.name,
                        learned=expert.languages.get(lang, 0.0),
                        language=lang,
                        loss=nats / count,
                        base_loss=base / count,
                    )
                    for expert, nats in zip(lineage.experts, alone.of_experts, strict=False)
                ]
    return cells
