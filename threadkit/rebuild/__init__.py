"""Indexes and counters made again from the records: all of them by hand, hot scores by themselves."""
