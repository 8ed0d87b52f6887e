"""Plans: what a search decided, one module a kind."""
