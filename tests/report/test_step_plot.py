"""The picture over steps: both inliners by name, a panel a stage and route, nothing unmeasured."""

import re

from harness.report.draw import plots
from harness.report.draw.step_plot import step_figure
from tests.report.test_plots import words


def test_it_names_both_inliners_every_stage_and_every_route(model):
    shown = words(step_figure(model.over_steps, emulated=True))
    assert {"2.13.0, by name", "2.14.0, by position"} <= set(shown)
    assert {"inline", "export", "save", "load", "by legacy", "by export"} <= set(shown)
    assert "Milliseconds over the number of steps; engines are emulated" in shown


def test_what_was_not_measured_is_said_in_the_picture():
    assert "not measured" in words(step_figure(None, emulated=True))


def test_every_case_is_a_ring_and_a_square_and_its_look_is_told_once(model):
    picture = plots.svg(step_figure(model.over_steps, emulated=True))
    panel = re.compile(r'<g style="[^"]*stroke: #d55e00[^"]*">((?:\s*<use [^>]*>)+)</g>')
    counts = [found[1].count("<use") for found in panel.finditer(picture)]
    assert counts == [6] * 8  # two routes, four stages, the six cases that both finished
    assert not re.search(r'<use [^>]*style="[^"]*stroke: #d55e00[^>]*>\s*<use', picture)


def test_the_two_are_told_apart_without_colour(model):
    picture = plots.svg(step_figure(model.over_steps, emulated=True))
    assert "stroke-dasharray" in picture
    assert "fill-opacity: 0" in picture or "fill: none" in picture


def test_the_picture_is_the_same_on_every_run(model):
    one, two = (plots.svg(step_figure(model.over_steps, True)) for _ in range(2))
    assert one == two
