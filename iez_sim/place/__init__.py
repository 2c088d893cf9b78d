"""Placement on paper: the same files under every strategy, and what each comes to."""
