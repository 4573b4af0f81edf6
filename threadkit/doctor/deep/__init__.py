"""`threadkit doctor --deep`: every key of the store held against what it must agree with."""
