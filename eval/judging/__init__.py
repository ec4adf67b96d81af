"""People judge a pool on a local page: what is shown, what is kept, whose grades agree."""
