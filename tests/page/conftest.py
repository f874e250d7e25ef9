"""A real browser, and the pages of a real run. For the session `page`, which brings the driver."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.base.errors import ExitCode
from harness.toolchain.environment import PROJECT_ROOT

if TYPE_CHECKING:
    pass

PUBLISHED = PROJECT_ROOT / "results" / "published"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
NO_BROWSER = """no browser: {looked}. One of these gives one:
    apt-get install chromium                              Debian; elsewhere Chromium or Chrome
    {python} -m playwright install chromium
    nox -s page -- --browser PATH                         where it is another one"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--browser", default="", help="A Chromium's or a Chrome's program.")


def browser_program(asked: str, own: str) -> str:
    """The browser's program: what was asked for, the driver's own, or one of the search path.

    Raises:
        LookupError: there is none; says how to get one.
    """
    if asked:
        looked, found = f"{asked} is no program", shutil.which(asked)
    else:
        looked = f"neither {own} nor, on the search path, {', '.join(BROWSERS)}"
        found = next(filter(None, map(shutil.which, (own, *BROWSERS))), None)
    if found is None:
        raise LookupError(NO_BROWSER.format(looked=looked, python=sys.executable))
    return found


@pytest.fixture(scope="session")
def browser(request):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        own = driver.chromium.executable_path
        try:
            program = browser_program(request.config.getoption("--browser", ""), own)
        except LookupError as reason:
            # Not a skip, which would be a pass.
            pytest.exit(str(reason), returncode=ExitCode.FAILED)
        running = driver.chromium.launch(executable_path=program)
        yield running
        running.close()


@pytest.fixture(scope="session")
def published():
    """The page of the newest published run, with its pictures and scripts."""
    return sorted(PUBLISHED.glob("*-all-releases"))[-1] / "report.html"


@pytest.fixture(scope="session")
def fresh(published, tmp_path_factory):
    """The same run's page as these templates write it."""
    run = tmp_path_factory.mktemp("run") / published.parent.name
    shutil.copytree(published.parent, run)
    command = [sys.executable, "-m", "harness", "report", str(run), "--no-pictures", "--no-scripts"]
    subprocess.run(command, cwd=PROJECT_ROOT, check=True, stdout=subprocess.DEVNULL)
    return run / "report.html"


@pytest.fixture(params=["published", "fresh"])
def html(request):
    """A report's page; each test sees both."""
    file: Path = request.getfixturevalue(request.param)
    return file
