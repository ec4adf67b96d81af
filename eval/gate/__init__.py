"""The gate: has a pipeline got worse than its committed baseline?"""
