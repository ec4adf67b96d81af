"""One retriever over one query set: searched, timed, stored."""
