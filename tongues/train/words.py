"""What users read of a run before and while it is trained: whole sentences by subject."""

from collections.abc import Mapping, Sequence

from tongues.core.beside import read_beside
from tongues.core.errors import Caution
from tongues.core.estimate import Estimate
from tongues.core.pages.blocks import Cell, Entry
from tongues.core.pages.numbers import fixed, minus
from tongues.core.quantities import show_bytes, show_count
from tongues.core.roles import list_languages
from tongues.runs.record import DerivedMixture

SAID: dict[str, str] = read_beside(__file__)
_POWERS = {0.0: "equal amounts of content (UniMax)", 1.0: "in proportion to the text"}
_OVER = 1.02  # times the limit on epochs: rounded shares may exceed it by less


def before_training(
    epochs: Mapping[str, float], unknown: Sequence[str], seen: Mapping[str, float]
) -> list[str]:
    """What users read before the first step.

    unknown: languages that may be forgotten and are not evaluated. seen: by language, the share of
    its held-out text that was not held out from the base.
    """
    lines = [SAID["read_again"].format(lang=lang, epochs=n) for lang, n in epochs.items() if n > 1]
    if unknown:
        lines.append(
            SAID["unmeasured"].format(langs=list_languages(f"`{lang}`" for lang in unknown))
        )
    return lines + [SAID["seen"].format(share=share, lang=lang) for lang, share in seen.items()]


def unusual_rate(rate: float, rule: float, low_rank: bool, times: float) -> Caution:
    """About a learning rate that is far from the rule; times: of it with low-rank updates."""
    text = SAID["rate_lora"] if low_rank else SAID["rate"]
    what = text.format(rate=rate, rule=rule, published=SAID["published"], times=times)
    return Caution("unusual_learning_rate", what)


def few_for_new_tokens(budget: int, new: int, fewest: int) -> Caution:
    """About new tokens that the budget is too short to learn."""
    what = SAID["few"].format(budget=show_count(budget), new=new, fewest=fewest)
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
        text = SAID["gain"] if gain.excludes_zero > 0 else SAID["no_gain"]
        lines = [text.format(n=gain.n, runs=rule["runs"], gain=shown)]
    else:
        how = _POWERS.get(power, SAID["other_power"].format(power))
        lines = [
            (SAID["by_rule"] if limit == "off" else SAID["limited"]).format(how=how, limit=limit)
        ]
    most = None if limit == "off" else _OVER * float(limit)
    if most and (over := [lang for lang, one in rows if one["epochs"] > most]):
        lines.append(SAID["too_little"].format(langs=list_languages(over), limit=limit))
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
