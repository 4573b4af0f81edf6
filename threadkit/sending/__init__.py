"""Mail and text messages to people: written here, handed to the post office, delivered in the background."""
