"""The first hour: the first site, and the link that makes its owner."""
