"""What adapters of servers share: names of indexes, collections, connections."""
