"""What is known to fail, and why: the register of defects and the expected table."""
