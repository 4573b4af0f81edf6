"""The checks, each in the file of what it looks at."""
