"""An engine's own fusion against the formula it states."""
