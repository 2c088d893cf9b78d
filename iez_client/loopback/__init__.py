"""Loopback: a file system of this machine's own that stripes as Lustre does (docs/loopback.md)."""
