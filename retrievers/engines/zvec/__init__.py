"""zvec."""
