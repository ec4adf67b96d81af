"""Making collections and adding judgments to them."""
