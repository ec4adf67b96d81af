"""The judge: collections, runs, measures, statistics, tracking and reports."""
