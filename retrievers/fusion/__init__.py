"""Ranked lists become one: scores brought to one scale, and formulas of fusion."""
