"""Request: what will be written in, layouts for it out."""
