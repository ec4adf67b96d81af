"""The versions of a collection: what each holds, what changed between them, and past ones.

`record_version` keeps one, `read_history` lists them.
"""

from assay.eval.collections.history.versions import Version, read_history, record_version

__all__ = ["Version", "read_history", "record_version"]
