"""Rebuilding indexes and re-ranking."""
