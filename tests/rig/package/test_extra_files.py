"""A file of the user's that is given to `save` has to come back with the program."""

import pytest

from corpus.case import find_case
from harness.rig.cell.disk import RoundTrip
from harness.rig.cell.judging import _extra_files
from harness.wire.routes import Route

NAME = "labels_saved_with_the_program"


class Prepared:
    case = find_case(NAME)


@pytest.mark.parametrize(
    ("route", "came_back", "kinds"),
    [
        (Route.RETRACE, {"labels.txt": "cat,dog"}, []),
        (Route.RETRACE, {"labels.txt": ""}, ["a file saved with the program is lost"]),
        (Route.NO_RETRACE, {}, ["a file saved with the program is lost"]),
        (Route.EXPORTED, {}, []),  # which is given no files
    ],
)
def test_a_file_that_does_not_come_back_with_the_program_is_told(route, came_back, kinds):
    back = RoundTrip(reloaded=object(), extra_files=came_back)
    assert [found.kind for found in _extra_files(Prepared, route, back)] == kinds
