"""At which step of a run correct passages were lost."""
