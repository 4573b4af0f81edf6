"""Keeping pages clean: screening, the queue, reports, people, and the log of what was done."""
