"""What is said of a run before and while it is trained: whole sentences by subject."""

from collections.abc import Mapping, Sequence

from tongues.core.errors import Caution
from tongues.core.estimate import Estimate
from tongues.core.pages.blocks import Cell, Entry
from tongues.core.pages.numbers import fixed, minus
from tongues.core.quantities import show_bytes, show_count
from tongues.core.roles import list_languages
from tongues.runs.record import DerivedMixture, FrameLosses

# A run that goes on
CHANGED = (
    "{key} was {before} and is {value} now: from here on the run is the same within rounding, not "
    "to the last digit"
)
RESUMED_ON_GPU = "on a GPU a resumed run is the same within rounding, not to the last digit"

# Before the first step
_READ_AGAIN = "`{lang}` will be read {epochs:.3g} times"
_UNMEASURED = (
    "caution: no held-out text of {langs} is evaluated: how much the run forgets of the base's "
    "languages is not measured (forgetting_unmeasured)"
)
_SEEN = (
    "caution: {share:.0%} of the groups held out of `{lang}` were not held out from the base, "
    "which may have learned them (held_out_seen)"
)

# The token that begins documents
_FRAME = (
    "the base's held-out loss is {with_token:.3f} nats per token with `{token}` before each "
    "document and {without_token:.3f} without; it is {used} here"
)
_OTHER_WAY = (
    "caution: the other way is better by {better:.3f} nats: set `tokens.document_start: {start}` "
    "and prepare again (frame_not_best)"
)
# Of the loss, from which the worse way is cautioned against; chosen: of 4,096 tokens that is sure.
_BETTER = 0.01

# Values of the recipe (benchmarks/base_defaults.txt: bases of 2B to 70B parameters)
_PUBLISHED = "published projects used 1e-05 to 0.0003"
_RATE = "a learning rate of {rate:,} is far from the rule for this base, {rule:,g}; {published}"
_RATE_LORA = _RATE + " with all weights, and {times:g} times that with LoRA"
_FEW = (
    "a budget of {budget} tokens is short for {new:,} new tokens: published projects trained at "
    "least {fewest:,} for each; compare with a run that keeps the base's tokenizer"
)

# A mixture by rule
_POWERS = {0.0: "equal amounts of content (UniMax)", 1.0: "in proportion to the text"}
_OTHER_POWER = "the bytes of content to the power {:g}"
_BY_RULE = "Shares by rule: {how}."
_LIMITED = "Shares by rule: {how}, at most {limit:g} epochs of each language."
_GAIN = (
    "Shares by {n} proxy runs of `{runs}`: mean loss lower by {gain} nats per token than with the "
    "shares by text, at the size of the proxies."
)
_NO_GAIN = (
    "The {n} proxy runs of `{runs}` show no sure gain, {gain} nats per token: the shares are those "
    "by text."
)
_TOO_LITTLE = (
    "The text is too little for this budget: {langs} would be read more than {limit:g} times."
)
_OVER = 1.02  # times the limit on epochs: rounded shares may exceed it by less


def before_training(
    epochs: Mapping[str, float], unknown: Sequence[str], seen: Mapping[str, float]
) -> list[str]:
    """What is told before the first step.

    unknown: languages that may be forgotten and are not evaluated. seen: by language, the share of
    its held-out text that was not held out from the base.
    """
    lines = [_READ_AGAIN.format(lang=lang, epochs=n) for lang, n in epochs.items() if n > 1]
    if unknown:
        lines.append(_UNMEASURED.format(langs=list_languages(f"`{lang}`" for lang in unknown)))
    return lines + [_SEEN.format(share=share, lang=lang) for lang, share in seen.items()]


def frame_lines(losses: FrameLosses) -> list[str]:
    """Lines about a comparison of frames, with a caution if the other way is better."""
    values = {"with_token": losses.with_token, "without_token": losses.without_token}
    used = "used" if losses.used else "not used"
    lines = [_FRAME.format(token=losses.token, used=used, **values)]
    ours, other = losses.without_token, losses.with_token
    if losses.used:
        ours, other = other, ours
    if other < ours * (1 - _BETTER):
        start = "none" if losses.used else losses.token
        lines.append(_OTHER_WAY.format(better=ours - other, start=start))
    return lines


def unusual_rate(rate: float, rule: float, low_rank: bool, times: float) -> Caution:
    """About a learning rate that is far from the rule; times: of it with low-rank updates."""
    text = _RATE_LORA if low_rank else _RATE
    what = text.format(rate=rate, rule=rule, published=_PUBLISHED, times=times)
    return Caution("unusual_learning_rate", what)


def few_for_new_tokens(budget: int, new: int, fewest: int) -> Caution:
    """About new tokens that the budget is too short to learn."""
    what = _FEW.format(budget=show_count(budget), new=new, fewest=fewest)
    return Caution("few_for_new_tokens", what)


def describe_mixture(mixture: DerivedMixture) -> list[str]:
    """The rule in a sentence, and what is worth a caution."""
    rule, rows = mixture["rule"], mixture["languages"].items()
    power, limit = float(rule["power"]), rule["max_epochs"]
    if "gain" in mixture:
        gain = Estimate.from_json(mixture["gain"])
        numbers = (gain.value, gain.low, gain.high)
        ends = [minus(fixed(4)(number)) for number in numbers if number is not None]
        shown = "{} [{}, {}]".format(*ends)
        text = _GAIN if gain.excludes_zero > 0 else _NO_GAIN
        lines = [text.format(n=gain.n, runs=rule["runs"], gain=shown)]
    else:
        how = _POWERS.get(power, _OTHER_POWER.format(power))
        lines = [(_BY_RULE if limit == "off" else _LIMITED).format(how=how, limit=limit)]
    most = None if limit == "off" else _OVER * float(limit)
    if most and (over := [lang for lang, one in rows if one["epochs"] > most]):
        lines.append(_TOO_LITTLE.format(langs=list_languages(over), limit=limit))
    return lines


def mixture_rows(mixture: DerivedMixture) -> list[dict[str, Entry]]:
    """A row a language: its text, its share, its share by a rule not taken, its epochs."""
    shares = {lang: one["share"] for lang, one in mixture["languages"].items()}
    rules = {"by text": mixture.get("by_text"), "by proxies": mixture.get("by_proxies")}
    others = {rule: of for rule, of in rules.items() if of and of != shares}
    return [
        {
            "language": lang,
            "text": Cell(show_bytes(one["bytes"]), one["bytes"]),
            "content": Cell(show_bytes(one["content"]), one["content"]),
            **{rule: f"{of[lang] * 100:.2f}%" for rule, of in others.items()},
            "share": Cell(f"{one['share'] * 100:.2f}%", one["share"]),
            "epochs": Cell(f"{one['epochs']:.2f}", one["epochs"]),
        }
        for lang, one in mixture["languages"].items()
    ]
