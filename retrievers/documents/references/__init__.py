"""References between sections and documents, in texts and in queries."""
