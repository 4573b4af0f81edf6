"""The store as a cluster and behind Sentinel."""
