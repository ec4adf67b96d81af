"""What all that asks a service shares: retries, addresses, pacing, prices and charges."""
