"""What ThreadKit is made of: the packages it runs with, and which of them are too old to run with."""
