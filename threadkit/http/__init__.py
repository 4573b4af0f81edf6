"""What holds for every request, whatever it is about."""
