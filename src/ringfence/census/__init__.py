"""The census: how many rows carry each combination of values. All that any search sees of the data."""
