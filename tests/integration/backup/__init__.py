"""Backups: made, looked at, put back."""
