"""What is known to fail, and why: the ledger and its readers."""
