"""Vector stores: parity with our fusion, speed, and recall of approximate search."""
