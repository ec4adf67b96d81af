"""Files of other formats to Markdown, with what their text came from."""
