"""Copying: everything from one store into another, under the names it has there."""
