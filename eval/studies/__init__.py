"""Studies: one folder for each question a user asks, from its arithmetic to its page."""
