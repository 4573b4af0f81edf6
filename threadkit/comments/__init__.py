"""Comments: what people write, on which page, and who sees it."""
