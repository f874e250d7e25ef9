"""The checks. Each is a pure function from what a cell made to findings; none knows an inliner."""
