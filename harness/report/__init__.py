"""The report: one model of a run, shown as a page, as markdown, as pictures and as junit.

The way of the data: records -> `frames` (pandas) -> `model` (a frozen ReportModel) -> `markdown`,
`page`, `plots` -> `write`. Everything before `write` is pure.
"""
