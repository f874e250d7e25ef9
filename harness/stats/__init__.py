"""Numbers in, intervals and verdicts out: no files, no processes, no clock."""
