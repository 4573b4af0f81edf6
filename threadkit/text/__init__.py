"""What people write, made fit to be shown: tidy source in, safe HTML out. Pure functions, no I/O.

`clean_source` before storing, `find_mentions` to know whom to look up, `render` to get HTML: Markdown → tokens →
HTML → bleach → nh3. The work for any input is bounded; what would cost more raises `TooComplex`.
"""

from threadkit.text.aside import aside
from threadkit.text.budget import TooComplex
from threadkit.text.hygiene import clean_source
from threadkit.text.parser import MAX_LINKS
from threadkit.text.rendering import RENDER_VERSION, Rendered, find_mentions, render, warm_up
from threadkit.text.sanitiser import sanitize

__all__ = [
    "MAX_LINKS",
    "RENDER_VERSION",
    "Rendered",
    "TooComplex",
    "aside",
    "clean_source",
    "find_mentions",
    "render",
    "sanitize",
    "warm_up",
]
