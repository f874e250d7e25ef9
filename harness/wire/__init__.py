"""What both sides of the process boundary speak: records and vocabulary."""
