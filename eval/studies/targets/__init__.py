"""Success criteria of the designs: measured value and verdict."""
