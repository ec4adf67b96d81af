"""The frame of a page: templates, macros, plots, formats."""
