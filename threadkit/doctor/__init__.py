"""Is everything set up as it must be? Red or green, with the fix beside it."""
