"""Builds in a folder of its own; pyproject.toml has everything else.

From the checkout's own `build/`, modules that are gone since an earlier build would go into the
wheel.
"""

import tempfile

from setuptools import setup

with tempfile.TemporaryDirectory() as folder:
    setup(options={"build": {"build_base": folder}, "egg_info": {"egg_base": folder}})
