"""The chunks that legs search, and the terms that their documents define."""
