"""Everything that knows how data lies in Redis or Valkey."""
