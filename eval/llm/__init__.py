"""Language models as the harness uses them: sessions, prompts, vendors."""
