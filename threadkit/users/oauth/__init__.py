"""Signing in with an account elsewhere: Google, GitHub, Discord, any OpenID Connect provider."""
