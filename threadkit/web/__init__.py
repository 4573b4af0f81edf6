"""What browsers load from us: the embed with its parts, the page for frames, and the demo."""
