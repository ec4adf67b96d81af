"""Pinecone, a service: vectors alone."""
