"""Which browser is taken, and what is said where there is none."""

import pytest

from tests.page.conftest import browser_program


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The driver's own browser, and a search path on which there is a chromium."""
    for name in ("own", "chromium"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "own"


def test_the_one_asked_for_comes_first_then_the_drivers_own_then_one_of_the_search_path(own):
    chromium = str(own.with_name("chromium"))
    assert browser_program(chromium, str(own)) == chromium
    assert browser_program("", str(own)) == str(own)
    own.unlink()
    assert browser_program("", str(own)) == chromium


def test_where_there_is_none_it_says_where_it_looked_and_how_to_get_one(own):
    own.unlink()
    own.with_name("chromium").unlink()
    with pytest.raises(LookupError, match="apt-get install chromium") as raised:
        browser_program("", str(own))
    assert str(own) in str(raised.value)
    with pytest.raises(LookupError, match="no-such is no program"):
        browser_program("no-such", str(own))
