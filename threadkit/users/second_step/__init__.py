"""What somebody can have beside a password: one-time codes, passkeys, and recovery codes for when both are lost."""
