"""Observe: what a client sees by itself of the OSTs of its file systems (docs/osts.md)."""
