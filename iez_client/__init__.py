"""What runs on the login or launch node, in flow order; the commands are in cli/."""

__version__ = "0.1.0"
