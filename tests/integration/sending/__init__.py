"""Sending, against a real SMTP server and a gateway that listens on a real socket."""
