"""What is taken out of documents as they are read: passages in other languages, private data."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from itertools import accumulate, groupby
from typing import Any, TypedDict

from langcodes import Language

from tongues.extras import require
from tongues.recipe import Clean
from tongues.text.document import Document
from tongues.text.signals import Identifier, counts_as
from tongues.text.signals.close import UNKNOWN
from tongues.text.signals.language import segments

__all__ = ["Removed", "add_removed", "rewrite"]

# Of paragraphs of English and French, 99.5 % are as sure or more; of clean text in 19 languages, at
# most 0.33 % of the bytes are in paragraphs that are surely foreign (`benchmarks/cleaning.py`).
_SURE = 0.9  # probability of a segment's language
_SAMPLES, _SAMPLE = 5, 300  # of a source; characters
_NO_LANGUAGE = (UNKNOWN, "zxx")

_EMAIL = re.compile(r"[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,6}[^\W\d_]{2,24}\b")
_ACCOUNT = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_CODE = re.compile(r"(?<![\w@.-])(?=[A-Z0-9+-]*\d)[A-Z0-9][A-Z0-9+-]{6,17}(?![\w@])")
_DIGITS = re.compile(r"(?<![\w.,@/-])(?:\+|\()?\d(?:[ .\-/()]{0,3}\d){6,18}(?![\w@])")
_CAPTURE = re.compile(r"\((?!\?)")
_CARD = re.compile(r"\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{4}|\d{4}([ -])\d{6}\2\d{5}")
# The modules of python-stdnum for the numbers of persons, and how many signs these have.
_PERSONS = {"AR": "ar.dni 8", "BE": "be.nn 11", "BG": "bg.egn 10", "BR": "br.cpf 11"}
_PERSONS |= {"CN": "cn.ric 18", "CZ": "cz.rc 9 10", "DE": "de.idnr 11", "DK": "dk.cpr 10"}
_PERSONS |= {"EE": "ee.ik 11", "ES": "es.dni 9", "FI": "fi.hetu 10 11", "FR": "fr.nir 15"}
_PERSONS |= {"GR": "gr.amka 11", "HR": "hr.oib 11", "IL": "il.idnr 8 9", "IS": "is_.kennitala 10"}
_PERSONS |= {"IT": "it.codicefiscale 11 16", "KR": "kr.rrn 13", "LT": "lt.asmens 11"}
_PERSONS |= {"MX": "mx.curp 18", "NL": "nl.bsn 8 9", "NO": "no.fodselsnummer 11"}
_PERSONS |= {"PL": "pl.pesel 11", "RO": "ro.cnp 13", "SE": "se.personnummer 10 12"}
_PERSONS |= {"SI": "si.emso 13", "TH": "th.pin 13", "TR": "tr.tckimlik 11", "US": "us.ssn 9"}
_PERSONS |= {"ZA": "za.idnr 13"}
_LOOSE = {"AR", "IL", "NL", "TH", "US"}  # a tenth or more of all digits are such a number


class Removed(TypedDict):
    """What was taken out of the documents of a source, of one kind."""

    places: int
    bytes: int
    samples: list[str]  # none of private data


def add_removed(total: dict[str, Removed], more: dict[str, Removed]) -> None:
    """Add amounts, by kind, to `total`."""
    for kind, each in more.items():
        old = total.get(kind, Removed(places=0, bytes=0, samples=[]))
        total[kind] = Removed(
            places=old["places"] + each["places"],
            bytes=old["bytes"] + each["bytes"],
            samples=[*old["samples"], *each["samples"]][:_SAMPLES],
        )


def rewrite(
    documents: Sequence[Document], clean: Clean, identifier: Identifier
) -> tuple[Sequence[Document], dict[str, Removed]]:
    """The documents, all of one language, without what the recipe takes out; and what that was."""
    removed: dict[str, Removed] = {}
    texts, lang = [document.text for document in documents], documents[0].lang
    if clean.passages == "drop":
        for number, parts in enumerate(_passages(texts, lang, identifier)):
            foreign = ["".join(part) for own, part in parts if not own]
            own = "".join(line for own, part in parts if own for line in part)
            if foreign and own.strip():  # a document that is all foreign is dropped as such
                texts[number] = own
                size = sum(len(text.encode()) for text in foreign)
                samples = [" ".join(text.split())[:_SAMPLE] for text in foreign]
                add = Removed(places=len(foreign), bytes=size, samples=samples)
                add_removed(removed, {"foreign passages": add})
    if clean.private != "keep":
        require("phonenumbers", "text.clean.private")
        for number, text in enumerate(texts):
            texts[number] = _without_private(text, lang, clean.private == "replace", removed)
    pairs = zip(documents, texts, strict=True)
    return [replace(document, text=text) for document, text in pairs], removed


def _passages(
    texts: Sequence[str], lang: str, identifier: Identifier
) -> Iterator[list[tuple[bool, list[str]]]]:
    """Of each text, its passages in turn: whether it is in the language, and its lines.

    Lines that make a segment together are judged as one, long lines by most of their bytes.
    """
    known = identifier.knows(lang)
    cut = [list(segments(text)) for text in texts]
    numbers, scores = identifier.classify([segment for of_text in cut for segment in of_text])
    foreign = {
        number
        for number, label in enumerate(identifier.labels)
        if label not in _NO_LANGUAGE and not counts_as(lang, label, known)
    }
    judged = zip(numbers.tolist(), scores.tolist(), strict=True)
    for of_text in cut:
        lines: list[tuple[bool, str]] = []
        line, size, other = b"", 0, 0
        for place, segment in enumerate(of_text, start=1):
            number, score = next(judged)
            line, size = line + segment, size + len(segment)
            other += len(segment) * (number in foreign and score >= _SURE)
            if segment.endswith(b"\n") or place == len(of_text):
                lines.append((2 * other < size, line.decode()))
                line, size, other = b"", 0, 0
        runs = groupby(lines, key=lambda each: each[0])
        yield [(own, [text for _, text in run]) for own, run in runs]


def _without_private(text: str, lang: str, named: bool, removed: dict[str, Removed]) -> str:
    """The text with private data left out or, where `named`, replaced by their kind."""
    kinds: dict[re.Pattern[str], Callable[[str], str]] = {
        _EMAIL: lambda _: "e-mail address",
        _ACCOUNT: _account,
        _CODE: lambda match: _person(match, lang),
        _DIGITS: lambda match: _number(match, lang),
    }

    def replaced(match: re.Match[str]) -> str:
        kind = kinds[match.re](match[0])
        if not kind:
            return match[0]
        size = len(match[0].encode())
        add_removed(removed, {kind: Removed(places=1, bytes=size, samples=[])})
        return f"<{kind}>" * named

    for pattern in kinds:
        text = pattern.sub(replaced, text)
    return text


def _account(text: str) -> str:
    from stdnum import iban

    return "account number" if iban.is_valid(text) else ""


def _person(text: str, lang: str) -> str:
    if text.isdecimal() and _region(lang) in _LOOSE:
        return ""
    valid, signs = _persons(lang)
    return "national number" if sum(map(str.isalnum, text)) in signs and valid(text) else ""


def _number(text: str, lang: str) -> str:
    """The kind of a number of digits in groups; nothing of a date, an amount and the like."""
    from phonenumbers import Leniency, PhoneNumberMatcher
    from stdnum import luhn

    if _CARD.fullmatch(text) and text[0] in "23456" and luhn.is_valid(re.sub(r"\D", "", text)):
        return "card number"
    if kind := _person(text, lang):
        return kind
    abroad = text.startswith(("+", "00"))
    if not abroad and text.isdecimal() and not text.startswith("0"):
        return ""  # digits without groups: a count or an identifier
    leniency = Leniency.VALID if abroad else Leniency.STRICT_GROUPING
    region = _region(lang)
    if not abroad and not (region and _may_be_phone(text, region)):
        return ""
    return "phone number" if PhoneNumberMatcher(text, region, leniency).has_next() else ""


def _may_be_phone(text: str, region: str) -> bool:
    """Whether digits in groups hold a number of the region's plan, before they are parsed slowly.

    Few numbers of a table do.
    """
    digits = text if text.isascii() else re.sub(r"\d", lambda digit: str(int(digit[0])), text)
    groups = re.findall(r"\d+", digits)
    fewest, plan, formats = _phone_plan(region)
    for first in range(len(groups)):
        for last in range(len(groups), first, -1):
            number = "".join(groups[first:last])
            if len(number) < fewest:
                break
            if not (match := plan.fullmatch(number)):
                continue
            if last == first + 1 or not match.lastindex:
                return True
            begin = match.start(match.lastindex)
            ends = {end - begin for end in accumulate(map(len, groups[first:last]))}
            ends = {end for end in ends if end > 0}
            for each in formats:  # its groups may be written together, but not divided
                shape = each.fullmatch(number, begin)
                if shape and ends <= {end - begin for _, end in shape.regs}:
                    return True
    return False


@cache
def _phone_plan(region: str) -> tuple[int, re.Pattern[str], list[re.Pattern[str]]]:
    """Of the numbers that are dialled from a region: their fewest digits, digits and groups.

    Numbers that are valid fit, and some that are not. One without a prefix fits only where its
    format needs none. The last group of a match is the number without prefixes.
    """
    from phonenumbers import PhoneMetadata, region_codes_for_country_code

    plan_of: Any = PhoneMetadata.metadata_for_region
    own = plan_of(region)
    plans = [plan_of(code) for code in region_codes_for_country_code(own.country_code)]
    kinds = "fixed_line mobile toll_free premium_rate shared_cost personal_number voip pager uan"
    every = [getattr(plan, kind) for plan in plans for kind in f"{kinds} voicemail".split()]
    patterns = dict.fromkeys(x.national_number_pattern for x in every if x is not None)
    valid = "|".join(filter(None, patterns))
    formats = {True: ["(?!)"], False: ["(?!)"]}  # by whether a prefix is needed
    for each in own.number_format:
        rule = each.national_prefix_formatting_rule or r"\1"
        needed = not (each.national_prefix_optional_when_formatting or rule in (r"\1", r"(\1)"))
        leading = "".join(f"(?={start})" for start in each.leading_digits_pattern[-1:])
        formats[needed].append(leading + _CAPTURE.sub("(?:", each.pattern))
    free, known = "|".join(formats[False]), "|".join(formats[True] + formats[False])
    prefix = _CAPTURE.sub("(?:", own.national_prefix_for_parsing or "(?!)")
    abroad = _CAPTURE.sub("(?:", own.international_prefix or "(?!)")
    after = r"\d*" if own.national_prefix_transform_rule else f"({valid})"
    plan = rf"(?:{prefix}){after}|{own.country_code}(?:{prefix})?(?:{valid})|(?:{abroad})\d+"
    plan += rf"|(?=(?:{free})\Z|(?!(?:{known})\Z))({valid})"
    others = vars(import_module("phonenumbers.data"))["_ALT_NUMBER_FORMATS"]
    written = [*own.number_format, *others.get(own.country_code, ())]
    shapes = [re.compile(shape) for shape in dict.fromkeys(each.pattern for each in written)]
    lengths = (length for plan in plans for length in plan.general_desc.possible_length)
    fewest = min(length for length in lengths if length > 0)
    return fewest, re.compile(plan), shapes


@cache
def _region(lang: str) -> str:
    """The main country of a language; nothing where none is known."""
    known = Language.get(lang)
    region = known.maximize().territory or ""
    return "" if region == "US" and known.language != "en" else region  # what nobody knows is US


@cache
def _persons(lang: str) -> tuple[Any, set[int]]:
    """What decides whether a number is that of a person in the language's main country; its signs.

    Some modules put zeros in front of shorter numbers.
    """
    module, *signs = _PERSONS.get(_region(lang), "").split() or [""]
    valid = import_module(f"stdnum.{module}").is_valid if module else None
    return valid, set(map(int, signs))
