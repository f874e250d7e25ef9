"""The report as HTML, Markdown and junit."""
