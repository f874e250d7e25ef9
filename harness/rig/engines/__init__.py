"""What stands behind a `_run_on_acc_*` child: a builder makes its bytes, an executor runs them."""
