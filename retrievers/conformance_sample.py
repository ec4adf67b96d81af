"""The sample documents and queries for the rules of retrievers and parts."""

from assay.retrievers.base import Document

DOCUMENTS = tuple(
    Document(f"doc{number}.md", text)
    for number, text in enumerate(
        (
            "# Ferries\n\nThe ferry to the northern islands sails twice a day in winter.",
            "# Refunds\n\nA cancelled sailing is refunded in full within five working days.",
            "# Luggage\n\nEach passenger may carry two suitcases and one bicycle free of charge.",
            "# Dogs\n\nDogs travel on open deck, see [[doc2]]; guide dogs may enter the saloon.",
            "# API\n\nCall `getSailingById` to look a sailing up by its identifier.",
            "# Twin\n\nThis very sentence stands in two documents of the collection.",
            "# Twin\n\nThis very sentence stands in two documents of the collection.",
            "# Größe\n\nÜbergepäck kostet zwölf Euro; naïve café owners pay 東京 prices.",
            "",
        )
    )
)
OTHER_DOCUMENTS = (
    Document("other.md", "# Lighthouse\n\nThe lighthouse keeper logs the weather every hour."),
    Document("more.md", "# Harbour\n\nThe harbour master assigns berths by draught."),
)
EDITED = Document(DOCUMENTS[0].id, "# Ferries\n\nA night train replaces every boat from April.")
QUERIES = (
    "When does the ferry to the islands sail?",
    "refund for a cancelled sailing",
    "getSailingById",
    "dogs",
    "this very sentence stands in two documents",
    "Übergepäck",
)
ODD_QUERIES = (
    "東京",
    "🛳️",
    "\x00\x07",
    '"' * 40,
    "AND OR NOT ( ) * : ~ ^",
    "word " * 3000,
    "\n\t x",
)
