"""Plan: from what each file is to get to the one file that the job's processes read."""
