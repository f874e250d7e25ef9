"""Engines: what stands behind a `_run_on_acc_*` child. Builders make the bytes, executors run them."""
