"""Threads for those without JavaScript: finished HTML, a plain form, and feeds."""
