"""One file per store: its settings, its operations, and the errors of its client."""
