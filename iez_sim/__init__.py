"""What runs on a laptop: the study."""
