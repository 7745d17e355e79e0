"""Builds the published site and its data files from what the engine says of every checkpoint."""
