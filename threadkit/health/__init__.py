"""Whether it runs, whether it is ready, what it is, and how it fares."""
