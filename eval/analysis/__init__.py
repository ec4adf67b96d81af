"""What stored runs show: differences, the fate of every answer, the choice of settings."""
