"""What a release must satisfy, and what it costs."""
