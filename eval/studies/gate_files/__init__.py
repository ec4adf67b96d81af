"""The gate on files: rankings of any system and judgments, without a collection."""
