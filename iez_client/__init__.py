"""What runs on the login or launch node, in flow order; the commands are in cli/."""
