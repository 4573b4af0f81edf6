"""What people are told: somebody answered them, named them, liked what they wrote, or moderated it."""
