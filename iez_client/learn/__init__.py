"""Learn: what was traced becomes knowledge, and knowledge becomes the plan of the next run."""
