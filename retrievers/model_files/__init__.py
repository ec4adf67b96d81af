"""Sources of models' files: pins, packages, hubs, and their digests."""
