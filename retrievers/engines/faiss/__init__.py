"""FAISS."""
