"""What filters cost engines, and what they make them miss."""
