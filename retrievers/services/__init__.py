"""Shared code of all calls to services: retries, addresses, pacing, prices and charges."""
