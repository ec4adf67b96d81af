"""Masking of personal data in queries, by patterns and check digits, before they are stored.

It finds e-mail addresses, IP addresses, telephone numbers (phonenumbers; without a region only
international ones), IBANs and numbers of payment cards (python-stdnum). It does not find names,
postal addresses, dates of birth, and numbers of customers or cases.
"""

import re
from collections import Counter
from collections.abc import Iterator
from ipaddress import ip_address

from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import hint_extra

EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
ADDRESS = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7})(?![\w:])"
)
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}", re.IGNORECASE)
CARD = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")


class Masker:
    """A masker that replaces personal data by `[email]`, `[phone]` and so on, and counts it."""

    def __init__(self, region: str | None = None) -> None:
        """Make a masker that also finds telephone numbers in the national form of `region`.

        Raises AssayError if `region` is not a country of two letters, or if the extra is missing.
        """
        try:
            import phonenumbers
        except ImportError:
            raise AssayError(f"traces: {hint_extra('traces')}") from None
        if region and region not in phonenumbers.SUPPORTED_REGIONS:
            raise AssayError(f"--region {region}: allowed: a country of two letters, as GB or DE")
        self._region = region
        self.counts: Counter[str] = Counter()

    def mask(self, text: str) -> str:
        """Return `text` without personal data."""
        for kind, find in (
            ("email", self._find_emails),
            ("iban", self._find_ibans),
            ("card", self._find_cards),
            ("ip", self._find_addresses),
            ("phone", self._find_phones),
        ):
            for start, end in sorted(find(text), reverse=True):
                text = f"{text[:start]}[{kind}]{text[end:]}"
                self.counts[kind] += 1
        return text

    def describe(self) -> list[str]:
        """Describe the masked data, and the data that cannot be found."""
        found = ", ".join(f"{kind} {count:,}" for kind, count in self.counts.items())
        return [
            f"masked in texts of queries: {found or 'nothing'}; names, postal addresses and "
            "numbers of customers cannot be found: read the texts before you share them"
        ]

    def _find_emails(self, text: str) -> Iterator[tuple[int, int]]:
        return (found.span() for found in EMAIL.finditer(text))

    def _find_ibans(self, text: str) -> Iterator[tuple[int, int]]:
        from stdnum import iban

        for found in IBAN.finditer(text):
            # The pattern may have taken words that follow; the number ends where it is valid.
            ends = range(found.end(), found.start() + 14, -1)
            valid = (end for end in ends if iban.is_valid(text[found.start() : end]))
            if end := next(valid, None):
                yield found.start(), end

    def _find_cards(self, text: str) -> Iterator[tuple[int, int]]:
        from stdnum import luhn

        for found in CARD.finditer(text):
            if luhn.is_valid(re.sub(r"\D", "", found.group())):
                yield found.span()

    def _find_addresses(self, text: str) -> Iterator[tuple[int, int]]:
        for found in ADDRESS.finditer(text):
            try:
                ip_address(found.group())
            except ValueError:
                continue
            yield found.span()

    def _find_phones(self, text: str) -> Iterator[tuple[int, int]]:
        from phonenumbers import PhoneNumberMatcher

        return ((found.start, found.end) for found in PhoneNumberMatcher(text, self._region))
