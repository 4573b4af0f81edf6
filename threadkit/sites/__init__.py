"""Sites: who they are, which keys open them, from where they may be used."""
