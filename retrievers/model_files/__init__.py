"""Where the files of models come from: pins, packages, hubs, and their digests."""
