"""The structure of a document: headings, sections, blocks, identifiers, sentences."""
