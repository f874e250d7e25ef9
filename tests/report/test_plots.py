"""The pictures: text stays text, and nothing unmeasured is drawn."""

import dataclasses
import xml.etree.ElementTree as ET

import matplotlib as mpl

from harness.report import style
from harness.report.draw import plots
from harness.report.sections.latency import LATENCY
from tests.report.conftest import share_an_inliner


def words(figure):
    root = ET.fromstring(plots.svg(figure))
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


def test_the_latency_picture_says_that_engines_are_emulated(model):
    shown = words(plots.latency_figure(model[LATENCY], emulated=True))
    assert "Latency in milliseconds; engines are emulated" in shown
    assert {"inline", "export", "save", "load"} <= set(shown)
    assert {"by legacy", "by export", "by direct", "by plain"} <= set(shown)
    assert shown.count("2.13.0") == 2  # by legacy and by export


def test_releases_of_one_row_are_one_line_of_the_picture(run):
    model = share_an_inliner(run).model()
    assert words(plots.latency_figure(model[LATENCY], True)).count("2.10.0 \u2013 2.13.0") == 1


def test_what_was_not_measured_is_said_in_the_picture(model):
    assert "not measured" in words(plots.latency_figure(model[LATENCY], emulated=True))
    assert "not measured" in words(plots.latency_figure((), emulated=True))


def test_a_name_with_markup_or_mathematics_is_drawn_as_it_is(model):
    named = [dataclasses.replace(row, members=("<b> $x_1$",)) for row in model[LATENCY]]
    assert "<b> $x_1$" in words(plots.latency_figure(named, emulated=True))


def test_a_picture_is_the_same_on_every_run_and_leaves_the_settings_alone(model):
    before = dict(mpl.rcParams)
    one, two = (plots.svg(plots.latency_figure(model[LATENCY], True)) for _ in range(2))
    assert one == two
    assert dict(mpl.rcParams) == before


def test_an_inlined_picture_follows_the_colours_of_its_page(model):
    picture = plots.svg(plots.latency_figure(model[LATENCY], True))
    inlined = plots.inlined(picture, "latency", "what it shows")
    assert inlined.startswith('<svg role="img" aria-label="what it shows"')
    assert "var(--ink)" in inlined
    assert style.INK not in inlined
    assert "http" not in inlined
