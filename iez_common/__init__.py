"""What client, server and simulation share: records, units, errors, configuration, the C core."""
