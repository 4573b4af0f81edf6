"""Counters: page views, a site's usage by month, and how many different people came."""
