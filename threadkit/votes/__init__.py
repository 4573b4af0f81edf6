"""Votes: one per person and comment, whatever happens at once."""
