"""Values of a sheet's cells as the cells show them, by their number formats."""

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any

GENERAL_DIGITS = 11
LARGEST = Decimal(10) ** GENERAL_DIGITS
SMALL, SMALLEST = Decimal("1e-4"), Decimal("1e-12")
# Formats 14 and 22 are written as in the country of the reader.
OF_COUNTRY = {"mm-dd-yy": "yyyy-mm-dd", "m/d/yy h:mm": "yyyy-mm-dd hh:mm"}
TOKEN = re.compile(
    r"\"[^\"]*\"|\\.|_.|\*.|\[[^\[\]]*\]|General|E[+-]|AM/PM|A/P|\.0+(?=[^0]*$)|"
    r"y+|m+|d+|h+|s+|[0#?]|.",
    re.I | re.S,
)
CONDITION = re.compile(r"\[(<=|>=|<>|=|<|>)\s*(-?[\d.]+)\]")
CURRENCY = re.compile(r"\[\$([^\]-]*)(?:-[^\]]*)?\]")
ELAPSED = re.compile(r"\[(h+|m+|s+)\]", re.I)
DATE_PARTS = re.compile(r"[ymdhs]", re.I)
FRACTION = re.compile(r"(?<![#0?])(?:([#0?]+)\s+)?([#0?]+)/([#0?]+|\d+)")
DIGITS = "0#?"
EPOCH = datetime(1899, 12, 30)
LONGEST = 400  # digits: no format and no float has more


def show(value: Any, code: str = "General") -> str:
    """Return the text that a cell with this value and number format shows."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    code = OF_COUNTRY.get(code, code)
    if isinstance(value, date | datetime | time | timedelta):
        return _show_date(value, _split(code)[0])
    if isinstance(value, int | float):
        return _show_number(Decimal(repr(value)), code)
    sections = _split(code)
    return _fill_text(str(value), sections[3] if len(sections) > 3 else sections[-1])


@cache
def _split(code: str) -> Sequence[Sequence[str]]:
    """Return the sections of a format, each as tokens."""
    sections: list[list[str]] = [[]]
    for token in TOKEN.findall(code):
        if token == ";":
            sections.append([])
        else:
            sections[-1].append(token)
    return sections


def _read_literal(token: str) -> str | None:
    """Return the literal text that a token shows; None if it shows part of the value."""
    if token[0] == '"':
        return token[1:-1]
    if token[0] == "\\":
        return token[1:]
    if token[0] == "_":
        return " "
    if token[0] == "*":
        return ""
    if token[0] == "[":
        return found[1] if (found := CURRENCY.fullmatch(token)) else ""
    return None


def _show_literal(token: str) -> str:
    return _read_literal(token) or ""


def _fill_text(text: str, tokens: Sequence[str]) -> str:
    if "@" not in tokens:
        return text
    return "".join(text if token == "@" else _show_literal(token) for token in tokens)


def _show_number(value: Decimal, code: str) -> str:
    if not value.is_finite():
        return str(value)
    sections = _split(code)
    tokens, signed = _choose(value, sections)
    if not tokens:
        return ""
    minus = "-" if value < 0 and signed else ""
    bare = [token for token in tokens if _read_literal(token) is None]
    if any(token.lower() == "general" for token in bare):
        shown = _show_general(abs(value))
        parts = (shown if token.lower() == "general" else _show_mark(token) for token in tokens)
        return minus + "".join(parts).strip()
    if bare == ["@"]:
        return minus + _show_general(abs(value))
    if any(DATE_PARTS.match(token) for token in bare):
        return _show_general(value)  # before 1900, or beyond 9999
    with localcontext() as context:
        context.prec = LONGEST
        shown = _fill(abs(value), tokens)
    # What rounds to nothing has no sign.
    return (minus if re.search(r"[1-9]", shown) else "") + shown.strip()


def _show_mark(token: str) -> str:
    literal = _read_literal(token)
    return token if literal is None else literal


def _choose(value: Decimal, sections: Sequence[Sequence[str]]) -> tuple[Sequence[str], bool]:
    """Return the section for a value, and whether it shows the sign of a negative one."""
    conditions = [
        found
        for tokens in sections
        for token in tokens[:2]
        if (found := CONDITION.fullmatch(token))
    ]
    if conditions:
        for tokens in sections[:3]:
            found = next((i for token in tokens if (i := CONDITION.fullmatch(token))), None)
            if found is None or _holds(value, found[1], Decimal(found[2])):
                return tokens, True
        return sections[0], True
    if value < 0 and len(sections) > 1:
        return sections[1], False
    if value == 0 and len(sections) > 2:
        return sections[2], False
    return sections[0], True


def _holds(value: Decimal, sign: str, limit: Decimal) -> bool:
    return {
        "<": value < limit, "<=": value <= limit, "=": value == limit,
        "<>": value != limit, ">=": value >= limit, ">": value > limit,
    }[sign]  # fmt: skip


def _show_general(value: Decimal) -> str:
    """Return a number in up to eleven characters, as cells without a format do."""
    small = 0 < abs(value) < SMALL
    text = _strip(value.quantize(SMALLEST, ROUND_HALF_UP)) if small else ""
    if text.strip("0.") and len(text) <= GENERAL_DIGITS:
        return text
    if small or abs(value) >= LARGEST:
        mantissa, _, power = f"{value:.5E}".partition("E")
        mantissa = mantissa.rstrip("0").rstrip(".")
        return f"{mantissa}E{power[0]}{power[1:].zfill(2)}"
    whole = len(str(abs(int(value))))
    places = max(0, GENERAL_DIGITS - 1 - whole)
    return _strip(value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def _strip(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _fill(value: Decimal, tokens: Sequence[str]) -> str:
    bare = "".join(token for token in tokens if _read_literal(token) is None)
    if "/" in bare and (found := FRACTION.search(bare)):
        return _show_fraction(value, tokens, found)
    value *= 100 ** bare.count("%")
    exponent = next((i for i, token in enumerate(tokens) if re.fullmatch(r"E[+-]", token, re.I)), 0)
    if exponent:
        return _show_scientific(value, tokens, exponent)
    places = [i for i, token in enumerate(tokens) if re.fullmatch(r"[0#?]|\.0+", token)]
    if not places:
        return "".join(map(_show_mark, tokens))
    point = next((i for i, token in enumerate(tokens) if token[0] == "."), len(tokens))
    last = max(places)
    commas = [i for i, token in enumerate(tokens) if token == "," and i > places[0]]
    scaling = [i for i in commas if not any(i < place for place in places if place < point)]
    scaling = [i for i in scaling if i < point or i > last]
    value = value.scaleb(-3 * len(scaling))
    decimals = "".join(token for token in tokens[point:] if token in DIGITS or token[0] == ".")
    decimals = decimals.replace(".", "")
    rounded = value.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    whole, _, rest = f"{rounded:f}".partition(".")
    grouped = len(commas) > len(scaling)
    front = [i for i in places if i < point]
    return _lay_out(tokens, front, point, whole.lstrip("0"), _trim(rest, decimals), grouped)


def _trim(digits: str, wanted: str) -> str:
    """Return decimals without the zeros at their end that a format does not ask for."""
    least = max((i + 1 for i, mark in enumerate(wanted) if mark == "0"), default=0)
    return digits[:least] + digits[least:].rstrip("0")


def _lay_out(
    tokens: Sequence[str],
    front: Sequence[int],
    point: int,
    whole: str,
    rest: str,
    grouped: bool,
) -> str:
    """Return the digits in the places of a format, with the literals between."""
    zeros = [i for i in front if tokens[i] == "0"]
    width = len([i for i in front if i >= zeros[0]]) if zeros else 0
    whole = whole.zfill(width) if width else whole
    if grouped:
        first = len(whole) % 3
        groups = [whole[:first], *(whole[i : i + 3] for i in range(first, len(whole), 3))]
        whole = ",".join(filter(None, groups))
    shown = {}
    if grouped and front:
        shown[front[0]] = whole
    else:
        for i in reversed(front):  # digits without a place go before the first
            shown[i] = whole if i == front[0] else whole[-1:]
            whole = whole[:-1]
    parts, left = [], rest
    for i, token in enumerate(tokens):
        literal = _read_literal(token)
        if literal is not None:
            parts.append(literal)
        elif i < point:
            parts.append(shown.get(i, "" if token in f"{DIGITS}," else token))
        elif token[0] == ".":
            taken = len(token) - 1
            parts.append("." + left[:taken])
            left = left[taken:]
        elif token in DIGITS:
            parts.append(left[:1])
            left = left[1:]
        elif token != ",":
            parts.append(token)
    return "".join(parts)


def _show_scientific(value: Decimal, tokens: Sequence[str], exponent: int) -> str:
    front, back = tokens[:exponent], tokens[exponent + 1 :]
    mantissa = "".join(front)
    places = len(re.sub(r"[^0#?]", "", mantissa.partition(".")[2]))
    wide = max(1, len(re.sub(r"[^0#?]", "", mantissa.partition(".")[0])))
    power = value.adjusted() // wide * wide if value else 0
    scaled = value.scaleb(-power).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    if scaled >= Decimal(10) ** wide:
        power += wide
        scaled = value.scaleb(-power).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    sign = "-" if power < 0 else "+" if tokens[exponent][1] == "+" else ""
    digits = sum(token in DIGITS for token in back)
    after = "".join(_show_mark(token) for token in back if token not in DIGITS)
    return f"{scaled:f}E{sign}{str(abs(power)).zfill(digits)}{after}"


def _show_fraction(value: Decimal, tokens: Sequence[str], found: re.Match[str]) -> str:
    whole, _, below = found.groups("")
    given = below.isdigit() and below.strip("0") != ""
    largest = int(below) if given else 10 ** len(below) - 1
    exact = Fraction(value)
    if given:
        near = Fraction(round(exact * largest), largest)
        top, bottom = near.numerator * (largest // near.denominator), largest
    else:
        near = exact.limit_denominator(largest)
        top, bottom = near.numerator, near.denominator
    units = 0
    if whole or found[0][len(whole) : len(whole) + 1] == " ":
        units, top = divmod(top, bottom)
    parts = [str(units)] if units or not top else []
    shown = " ".join([*parts, f"{top}/{bottom}"] if top else parts)
    places = [i for i, token in enumerate(tokens) if token in DIGITS or token.isdigit()]
    before, after = tokens[: places[0]], tokens[places[-1] + 1 :]
    return "".join([*map(_show_mark, before), shown, *map(_show_mark, after)])


def _show_date(value: date | datetime | time | timedelta, tokens: Sequence[str]) -> str:
    if [token.lower() for token in tokens] == ["general"] or not any(
        _read_literal(token) is None or ELAPSED.fullmatch(token) for token in tokens
    ):
        tokens = _split("[h]:mm:ss" if isinstance(value, timedelta) else "yyyy-mm-dd hh:mm:ss")[0]
    if isinstance(value, timedelta):
        moment, seconds = EPOCH + value, value.total_seconds()
    elif isinstance(value, time):
        moment = datetime.combine(EPOCH.date(), value)
        seconds = (moment - EPOCH).total_seconds()
    else:
        moment = value if isinstance(value, datetime) else datetime.combine(value, time())
        seconds = (moment - EPOCH).total_seconds()
    halves = any(token.upper() in ("AM/PM", "A/P") for token in tokens)
    parts = []
    for i, token in enumerate(tokens):
        if elapsed := ELAPSED.fullmatch(token):
            unit = {"h": 3600, "m": 60, "s": 1}[elapsed[1][0].lower()]
            parts.append(str(int(seconds // unit)).zfill(len(elapsed[1])))
        elif (literal := _read_literal(token)) is not None:
            parts.append(literal)
        else:
            minutes = token[0] in "mM" and _is_minute(tokens, i)
            parts.append(_show_part(moment, token, minutes, halves))
    return "".join(parts).strip()


def _is_minute(tokens: Sequence[str], i: int) -> bool:
    """Return True if an `m` follows hours or precedes seconds."""
    units = [
        (j, token.strip("[]")[0].lower())
        for j, token in enumerate(tokens)
        if DATE_PARTS.match(token) or ELAPSED.fullmatch(token)
    ]
    place = next(k for k, (j, _) in enumerate(units) if j == i)
    before = units[place - 1][1] if place else ""
    after = units[place + 1][1] if place + 1 < len(units) else ""
    return len(tokens[i]) < 3 and (before == "h" or after == "s")


def _show_part(moment: datetime, token: str, minutes: bool, halves: bool) -> str:
    size, kind = len(token), token[0].lower()
    if token.upper() == "AM/PM":
        return "AM" if moment.hour < 12 else "PM"
    if token.upper() == "A/P":
        return "A" if moment.hour < 12 else "P"
    if token.startswith(".") and size > 1:
        return f".{moment.microsecond:06d}"[:size]
    if kind == "y":
        return f"{moment.year:04d}" if size > 2 else f"{moment.year % 100:02d}"
    if kind == "h":
        hour = (moment.hour - 1) % 12 + 1 if halves else moment.hour
        return str(hour).zfill(min(size, 2))
    if kind in "ms" and (minutes or kind == "s"):
        number = moment.minute if minutes else moment.second
        return str(number).zfill(min(size, 2))
    if kind == "m":
        named = f"{moment:%B}"
        return {1: str(moment.month), 2: f"{moment.month:02d}", 3: named[:3], 5: named[0]}.get(
            size, named
        )
    if kind == "d":
        named = f"{moment:%A}"
        return {1: str(moment.day), 2: f"{moment.day:02d}", 3: named[:3]}.get(size, named)
    return token
