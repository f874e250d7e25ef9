"""The picture of a split module: every box once, and a wrong wire beside the right one."""

import dataclasses
import re
from xml.etree import ElementTree

from harness.report.draw.drawing import (
    ACROSS,
    MOST_BOXES,
    Box,
    Picture,
    Wire,
    WrongWire,
    caption,
    drawing,
    places,
    sentence,
)
from harness.report.sections.causes import CAUSES
from tests.report.conftest import undrawn_page

PICTURE = Picture(
    boxes=(
        Box("x", "input", "model input"),
        Box("_run_on_acc_0", "engine", "engine, 2 output(s)"),
        Box("_run_on_gpu_1", "fallback", "aten.relu.default"),
        Box("_run_on_acc_2", "engine", "engine, 1 output(s)"),
        Box("returns", "output", "model outputs"),
    ),
    wires=(
        Wire("x", None, "_run_on_acc_0"),
        Wire("_run_on_acc_0", 0, "_run_on_gpu_1"),
        Wire("_run_on_gpu_1", None, "_run_on_acc_2"),
        Wire("_run_on_acc_2", None, "returns"),
    ),
    wrong=(WrongWire("_run_on_gpu_1", "x", None, "_run_on_acc_0", 0, "reads <x>"),),
    lost=(),
    raised="",
    unreadable="",
)


def wires(picture, which):
    svg = ElementTree.fromstring(drawing(picture, "one"))
    return [path for path in svg.iter("path") if path.get("class") == f"wire {which}"]


def test_every_box_is_drawn_once_right_of_what_it_reads():
    svg = ElementTree.fromstring(drawing(PICTURE, "one"))
    assert len(list(svg.iter("rect"))) == len(PICTURE.boxes)
    at = places(PICTURE, frozenset(box.name for box in PICTURE.boxes))
    for wire in PICTURE.wires:
        assert at[wire.source].x + ACROSS <= at[wire.target].x


def test_a_wrong_wire_stands_beside_the_right_one_and_is_named():
    assert len(wires(PICTURE, "wrong")) == len(wires(PICTURE, "right")) == 1
    assert len(wires(PICTURE, "plain")) == 3
    assert "✗ wired" in drawing(PICTURE, "one")
    assert "should be, output 0" in drawing(PICTURE, "one")


def test_nothing_is_marked_where_every_wire_is_right():
    right = dataclasses.replace(PICTURE, wrong=())
    assert not wires(right, "wrong")
    assert len(wires(right, "plain")) == 4
    assert sentence(right).endswith("boxes: no wire is wrong.")


def test_a_wrong_wire_out_of_no_box_marks_its_reader_beside_the_right_wire():
    loose = dataclasses.replace(PICTURE, wrong=(dataclasses.replace(PICTURE.wrong[0], source=""),))
    assert not wires(loose, "wrong")
    assert len(wires(loose, "right")) == 1
    assert drawing(loose, "one").count('class="box fallback bad"') == 1
    assert "reads <x>" in sentence(loose)


def test_a_box_whose_effects_are_lost_is_marked():
    lost = dataclasses.replace(PICTURE, wrong=(), lost=("_run_on_gpu_1",))
    assert drawing(lost, "one").count('class="box fallback bad"') == 1
    assert caption(lost) == "what _run_on_gpu_1 writes or draws is lost."


def test_what_broke_and_what_could_not_be_read_is_told():
    broke = dataclasses.replace(PICTURE, wrong=(), raised="KeyError: 'a'")
    assert caption(broke) == "no wire is wrong as far as it came; it raised KeyError: 'a'."
    unread = dataclasses.replace(PICTURE, wrong=(), unreadable="no schema")
    assert caption(unread) == "its wires could not be read (no schema)."


def test_a_large_picture_keeps_what_is_around_the_wrong_wire():
    more = [Box(f"b{number}", "fallback", "") for number in range(40)]
    chain = [Wire("returns", None, "b0")]
    chain += [Wire(f"b{number}", None, f"b{number + 1}") for number in range(39)]
    large = dataclasses.replace(
        PICTURE, boxes=(*PICTURE.boxes, *more), wires=(*PICTURE.wires, *chain)
    )
    text = drawing(large, "one")
    assert text.count("<rect") <= MOST_BOXES
    assert len(wires(large, "wrong")) == 1


def test_what_a_box_says_cannot_leave_the_picture():
    evil = dataclasses.replace(PICTURE.boxes[2], says='"><script>')
    boxes = (*PICTURE.boxes[:2], evil, *PICTURE.boxes[3:])
    text = drawing(dataclasses.replace(PICTURE, boxes=boxes), "one")
    assert "<script" not in text
    ElementTree.fromstring(text)


def test_the_page_shows_a_cause_with_its_picture(run):
    model = run.model()
    cause = model[CAUSES].live[0]
    text = undrawn_page(dataclasses.replace(model, pictures={cause.defect.id: PICTURE}))
    assert f'aria-label="Split graph of {cause.cases[0]}"' in text
    assert text.count('<path class="wire wrong"') == 1
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))


def test_a_page_without_pictures_says_why(run):
    model = dataclasses.replace(run.model(), no_pictures="no wheel is at hand")
    assert "No pictures: no wheel is at hand." in undrawn_page(model)


def test_boxes_whose_long_names_begin_and_end_alike_are_told_apart():
    names = [f"lifted_buf_layers_{n}_attention_kv_cache_{x}_cache" for n in (0, 1) for x in "kv"]
    twins = ["an_input_of_that_name", "an_input_of_that_name_1"]
    boxes = tuple(Box(name, "op", name.replace("_", ".")) for name in (*names, *twins, "x"))
    shown = re.findall(r'class="name">([^<]*)<', drawing(Picture(boxes, ()), "mine"))
    assert len({*shown}) == len(shown) == 7
    assert all(len(each) <= 20 for each in shown)
    assert shown[-1] == "x"
    told = re.findall(r'class="says"[^>]*>([^<]*)<', drawing(Picture(boxes, ()), "mine"))
    assert {each[-7:] for each in told[:4]} == {"k.cache", "v.cache"}
