"""What published labels say, by their grammar alone."""
