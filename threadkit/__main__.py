"""`python -m threadkit` is `threadkit`."""

from threadkit.cli import main

main()
