"""A flattened graph as a picture: where boxes stand, and which wires are marked as wrong."""

from xml.etree import ElementTree

from harness.report.draw.upright import AT_MOST, BREADTH, EDGE, HEIGHT, rows, upright
from harness.report.flattened import picture_of


def node(name, *reads, kind="op"):
    return {"name": name, "kind": kind, "says": name, "reads": [*reads]}


def graph(*nodes, raised=""):
    return {"nodes": [*nodes], "raised": raised}


SPLIT = graph(node("x", kind="input"), node("_run_on_gpu_0", "x", kind="fallback"))
RIGHT = graph(
    node("x", kind="input"),
    node("a", "x"),
    node("b", "x"),
    node("c", "x"),
    node("sum", "a", "b", "c"),
    node("returns", "sum"),
)
WRONG = graph(
    node("x", kind="input"),
    node("a", "x"),
    node("b", "x"),
    node("sum", "a", "b", "a"),
    node("returns", "sum"),
)


def test_a_box_stands_below_all_that_it_reads_and_no_line_is_wider_than_two():
    at = rows(picture_of(RIGHT, RIGHT, SPLIT))
    for each in RIGHT["nodes"]:
        assert all(at[source].y + HEIGHT < at[each["name"]].y for source in each["reads"])
    lines = [place.y for place in at.values()]
    assert max(map(lines.count, lines)) == AT_MOST
    assert len({(place.x, place.y) for place in at.values()}) == len(at)


def test_a_drawing_is_as_wide_as_a_phone_whatever_it_shows():
    svg = ElementTree.fromstring(upright(picture_of(RIGHT, RIGHT, SPLIT), "heading"))
    assert float(svg.get("width")) == BREADTH + 2 * EDGE <= 360


def test_a_node_that_reads_otherwise_than_its_namesake_is_wrong_and_what_it_misses_is_gone():
    picture = picture_of(WRONG, RIGHT, SPLIT)
    (wire,) = picture.wrong
    assert (wire.target, wire.source, wire.right) == ("sum", "a", "c")
    assert [box.name for box in picture.boxes if box.kind == "gone"] == ["c"]
    drawn = str(upright(picture, "heading"))
    assert drawn.count('class="wire wrong"') == drawn.count('class="wire right"') == 1
    assert picture_of(RIGHT, RIGHT, SPLIT).wrong == ()


def test_a_call_that_is_left_since_the_inliner_raised_is_not_wrong_yet():
    left = graph(
        node("x", kind="input"),
        node("_run_on_gpu_0", "x", kind="fallback"),
        node("returns", "_run_on_gpu_0"),
        raised="AssertionError",
    )
    picture = picture_of(left, RIGHT, SPLIT)
    assert picture.wrong == ()
    assert "it raised AssertionError" in upright(picture, "heading")
