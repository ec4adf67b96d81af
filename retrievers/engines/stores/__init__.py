"""One file a store: what it can be told, its verbs, and what goes wrong in them."""
