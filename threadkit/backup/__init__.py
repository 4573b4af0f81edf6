"""Backups: the whole store in one file, and back again."""
