"""From rankings to scores: the join of judgments, the measures, their bounds."""
