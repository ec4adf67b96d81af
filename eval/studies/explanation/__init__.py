"""Explanation: the step of a run at which each correct passage was lost."""
