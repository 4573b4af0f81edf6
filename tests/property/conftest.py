"""`THREADKIT_SOAK=1` tries the laws with many more examples; the machines have numbers of their own."""

import os

from hypothesis import settings

settings.register_profile("long", max_examples=1000, deadline=None, print_blob=True)
if os.environ.get("THREADKIT_SOAK"):
    settings.load_profile("long")
