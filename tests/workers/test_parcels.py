"""What a worker reads travels to a node once, and is found there by its content."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.workers.parcels import Parcel, moved, parcel_of


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The controller's cache."""
    return tmp_path / "own"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The node's cache."""
    return tmp_path / "node"


def nothing() -> Iterator[bytes]:
    raise AssertionError("it was here already")
    yield b""


def test_a_file_is_found_by_its_content_and_taken_once(tmp_path, own, node):
    source = tmp_path / "a.whl"
    source.write_bytes(b"x" * 100)
    parcel = parcel_of(source, own)
    pieces = list(parcel.chunks())
    source.unlink()  # the node has no such disk
    assert parcel.found(node) is None
    place = parcel.unpack(pieces, node)
    assert place.read_bytes() == b"x" * 100
    assert place.is_relative_to(node)
    assert parcel.found(node) == place
    assert parcel.unpack(nothing(), node) == place


def test_a_shared_disk_is_read_where_it_is_unless_it_has_something_else_there(tmp_path, own, node):
    source = tmp_path / "_exporter.py"
    source.write_text("a = 1\n")
    parcel = parcel_of(source, own)
    assert parcel.found(node) == source
    source.write_text("a = 2\n")
    assert parcel.found(node) is None


def test_a_folder_travels_with_all_that_is_in_it(tmp_path, own, node):
    source = tmp_path / "cases"
    (source / "below").mkdir(parents=True)
    (source / "below" / "case.py").write_text("pass\n")
    (source / "link").symlink_to("below/case.py")
    parcel = parcel_of(source, own)
    pieces = list(parcel.chunks())
    (source / "below" / "case.py").write_text("other\n")
    place = parcel.unpack(pieces, node)
    assert (place / "link").read_text() == "pass\n"


def test_a_package_lies_beside_the_libraries_that_it_looks_for(own, node):
    for name in ("site", "libraries-1"):
        (own / "packages" / name).mkdir(parents=True)
        (own / "packages" / name / "file").write_text(name)
    parcels = [parcel_of(own / "packages" / name, own) for name in ("site", "libraries-1")]
    pieces = [list(parcel.chunks()) for parcel in parcels]
    own.rename(own.with_name("elsewhere"))
    places = [each.unpack(some, node) for each, some in zip(parcels, pieces, strict=True)]
    assert places == [node / "packages" / "site", node / "packages" / "libraries-1"]


def test_a_large_file_travels_in_pieces(tmp_path, own, node, monkeypatch):
    monkeypatch.setattr("harness.workers.parcels._CHUNK_BYTES", 1 << 16)
    for number in range(8):
        (tmp_path / "many").mkdir(exist_ok=True)
        (tmp_path / "many" / str(number)).write_bytes(bytes([number]) * (1 << 16))
    pieces = list(parcel_of(tmp_path / "many", own).chunks())
    assert len(pieces) > 4
    place = Parcel(tmp_path / "gone" / "many", "digest").unpack(pieces, node)
    assert (place / "7").read_bytes() == bytes([7]) * (1 << 16)


def test_a_message_names_the_places_of_the_node():
    places = {"/own/lib.so": "/node/lib.so", "/own/texts": "/node/texts"}
    message = {"library": "/own/lib.so", "seed": 3, "of": [["/own/texts/a.py", 1], "/own/library"]}
    assert moved(message, places) == {
        "library": "/node/lib.so",
        "seed": 3,
        "of": [["/node/texts/a.py", 1], "/own/library"],
    }
