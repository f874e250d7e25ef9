"""The structure space as data: axes with values, each a predicate over a split module."""
