"""Fair use: how often something may be done."""
