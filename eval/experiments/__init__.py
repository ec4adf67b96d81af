"""Where configs become retrievers and meet the judge: here alone it knows all of `retrievers`."""
