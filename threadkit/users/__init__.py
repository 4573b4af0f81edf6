"""People: accounts, sessions, ways in."""
