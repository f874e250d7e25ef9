"""Which causes are drawn, and what a page says where none can be."""

from harness.base.errors import SurroundingsError
from harness.report.pictures import MOST, of_packages, picture_from_json, with_pictures, worst
from tests.report.conftest import cause, full_run, model_with


def test_the_worst_are_drawn_and_no_more_than_a_dozen():
    model = model_with(
        *(cause(f"cause-{number}") for number in range(20)), cause("cause-20", "silent")
    )
    ids = [each.defect.id for each in worst(model)]
    assert len(ids) == MOST
    assert ids[0] == "cause-20"


def test_a_cause_of_packages_alone_or_one_that_hangs_is_not_run_in_the_graph_lane():
    hung = cause("cause-1", label="timeout@export")
    assert worst(model_with(hung, cause("cause-2", cells=0, package_cells=3))) == []


def test_what_only_packages_show_is_drawn_by_release():
    hung = cause("cause-1", cells=0, label="timeout@export")
    found = of_packages(
        model_with(
            hung,
            cause("cause-2"),
            cause("cause-3", cells=0, subject="2.13.0"),
            cause("cause-4", cells=0),
            cause("cause-5", cells=0, subject="2.13.0"),
        )
    )
    ids = {release: [each.defect.id for each in causes] for release, causes in found.items()}
    assert ids == {"2.13.0": ["cause-3", "cause-5"], "2.14.0": ["cause-4"]}


class NoRuntime:
    """A toolchain on a machine where nothing can be had."""

    python = "python"

    def __getattr__(self, name: str) -> object:
        raise SurroundingsError(f"{name}: no such thing here")


def test_a_page_without_pictures_says_why():
    class Judged:
        candidates = ()
        provenance = type("Provenance", (), {"subjects": (full_run().subjects[-1],)})()

    class Catalogue:
        def get(self, version: str) -> None:
            raise SurroundingsError(f"{version}: not at hand")

    model = with_pictures(
        full_run().model(),
        Judged(),  # type: ignore[arg-type]
        NoRuntime(),  # type: ignore[arg-type]
        Catalogue(),  # type: ignore[arg-type]
    )
    assert model.pictures == {}
    assert model.no_pictures == "2.13.0: not at hand"


def test_a_picture_is_read_as_the_rig_prints_it():
    wire = {"source": "x", "output": None, "target": "returns"}
    wrong = {**wire, "right": "y", "right_output": 1, "says": "reads x, should read y"}
    boxes = [{"name": "x", "kind": "input", "says": "model input"}]
    read = picture_from_json(
        {
            "boxes": boxes,
            "wires": [wire],
            "wrong": [wrong],
            "lost": ["x"],
            "raised": "",
            "unreadable": "",
        }
    )
    assert read.boxes[0].name == "x"
    assert read.wrong[0].right_output == 1
    assert read.lost == ("x",)
