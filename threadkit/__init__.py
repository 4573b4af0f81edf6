"""ThreadKit: a self-hosted comment platform."""

__version__ = "0.1.0"
