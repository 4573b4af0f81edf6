"""Pages: which one is meant, what it is called, and whether people may write there."""
