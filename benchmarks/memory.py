"""Whether the memory of this machine suffices, asked before any time is spent."""

import os
from pathlib import Path

from assay.retrievers.base import AssayError

# At 100,000 chunks the process was seen to take 2.4 GB; this leaves room for longer passages.
BASE_BYTES = 400_000_000
BYTES_PER_CHUNK = 30_000
MEMINFO = Path("/proc/meminfo")
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def check_memory(chunks: int) -> None:
    """Raise AssayError when `chunks` chunks will not fit into the memory that is available."""
    needed = BASE_BYTES + chunks * BYTES_PER_CHUNK
    available = _available()
    if needed > available:
        fitting = max(0, available - BASE_BYTES) // BYTES_PER_CHUNK
        raise AssayError(
            f"--chunks {chunks}: needs about {needed / 1e9:.1f} GB of memory, of which"
            f" {available / 1e9:.1f} GB are available; allowed here: up to {fitting}"
        )


def _available() -> int:
    """Return the bytes that can be had without swapping, as near as the system tells."""
    if not MEMINFO.exists():
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    fields = dict(line.split(":") for line in MEMINFO.read_text().splitlines())
    available = int(fields["MemAvailable"].removesuffix("kB")) * 1024
    limit = CGROUP_LIMIT.read_text().strip() if CGROUP_LIMIT.exists() else "max"
    return available if limit == "max" else min(available, int(limit))
