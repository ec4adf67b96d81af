"""Retrievers written elsewhere: a class, an HTTP service, a framework."""
