"""Others who are asked about a comment: only those the owner switched on, and never for longer than a second."""
