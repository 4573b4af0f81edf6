"""The command line: `threadkit`, and what stands behind it."""

from threadkit.cli.main import main

__all__ = ["main"]
