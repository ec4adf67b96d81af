"""The language of a text whose document does not state it."""

from functools import cache
from typing import TYPE_CHECKING

from assay.retrievers.store.cache import Cache
from assay.retrievers.store.digest import digest

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

READ = 5000  # characters that are looked at
SURE = 0.9  # the least probability at which a language is returned
KIND = "languages"  # of the cache
REVISION = 1  # raise it when results change for the same text


def detect_language(text: str) -> str:
    """Return the ISO 639-1 code of a text's language by its first 5,000 characters.

    "" if py3langid, of the extra documents, is not installed or is less than 90 % sure.
    """
    identifier = _load_identifier()
    if identifier is None or not text.strip():
        return ""
    language, probability = identifier.classify(text[:READ])
    return str(language) if probability >= SURE else ""


def find_language(text: str, kept: Cache) -> str:
    """Detect the language with a cache: loading the model takes longer than a search.

    Raises AssayError if the cache cannot be written.
    """
    key = digest(REVISION, text[:READ])
    known = kept.get_many(KIND, [key])
    if key in known:
        return known[key].decode()
    language = detect_language(text)
    if _load_identifier() is not None:
        kept.put_many(KIND, {key: language.encode()})
    return language


@cache
def _load_identifier() -> "LanguageIdentifier | None":
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ModuleNotFoundError:
        return None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
