"""What runs on OSS, MDS or service nodes."""
