"""Audit: the evidence in a published pair of means."""
