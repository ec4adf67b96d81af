"""The metrics of ragas on stored runs, beside the measures of information retrieval.

The library is imported where it is used: it takes seconds, and is the extra `ragas`.
"""
