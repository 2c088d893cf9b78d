"""Parse: the trace files of a run in, one record a file out (docs/tracing.md)."""
