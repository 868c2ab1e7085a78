"""Libraries on torch, and other frameworks, in a rank."""
