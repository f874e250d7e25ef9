"""Which release and call a user is told to take, from the cells of his model."""

import dataclasses

import pytest

from harness.gate.attribution import due_to
from harness.gate.model_answer import (
    Cause,
    ModelAnswer,
    Standing,
    calls_lost,
    model_answer,
    packs_otherwise,
)
from harness.register.defects import Defect, Sign, read_register
from harness.register.facts import Fact, Place
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CellKey, CellRecord, Verdict
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import NOT_COMPILED
from tests.record_builders import defect, failed, record, register, table, unsupported

NEW, OLD = "2.14.0", "2.13.0"
DEFECT = defect("lost-state", Sign("values", "numbers differ"), workaround="Do that.")


def at(release: str, route: Route, lane: Lane = Lane.PACKAGE) -> CellKey:
    return CellKey("mine", "nonstrict", release, route, lane=lane)


def harmed(harm: Harm, says: str = "numbers differ") -> Verdict:
    return dataclasses.replace(failed(Oracle.VALUES, says), harm=harm)


def answer(*records: CellRecord, releases: tuple[str, ...] = (NEW, OLD)) -> ModelAnswer:
    return model_answer("mine", records, releases, table(), register(DEFECT))


RIGHT = [record(at(release, Route.RETRACE)) for release in (NEW, OLD)]


def test_the_newest_release_and_the_plainest_call_that_are_right_are_the_ones_to_use():
    told = answer(record(at(NEW, Route.NO_RETRACE)), *RIGHT)
    assert told.best is not None
    assert (told.best.release, told.best.route) == (NEW, Route.RETRACE)
    assert told.newest_is_safe


@pytest.mark.parametrize(
    ("harm", "standing", "safe"),
    [
        (Harm.COSMETIC, Standing.RIGHT, True),
        (Harm.INTERFACE, Standing.OTHER_FORM, True),
        (Harm.WARNED, Standing.ANNOUNCED, False),
        (Harm.ERROR, Standing.ERROR, False),
        (Harm.SILENT, Standing.SILENT, False),
    ],
)
def test_numbers_alone_decide(harm, standing, safe):
    told = answer(record(at(NEW, Route.RETRACE), harmed(harm)), releases=(NEW,))
    assert told.calls[NEW, Route.RETRACE].standing is standing
    assert told.newest_is_safe is safe


def test_a_call_that_is_right_in_every_way_comes_before_one_that_returns_another_form():
    told = answer(
        record(at(NEW, Route.RETRACE), harmed(Harm.INTERFACE)), record(at(NEW, Route.NO_RETRACE))
    )
    assert told.best is not None
    assert told.best.route is Route.NO_RETRACE


def test_a_module_that_is_right_in_memory_alone_is_no_program_to_use():
    told = answer(record(at(NEW, Route.COMPILE)), releases=(NEW,))
    assert told.best is None


def test_an_older_release_is_told_where_the_newest_has_no_right_call():
    told = answer(record(at(NEW, Route.RETRACE), harmed(Harm.SILENT)), RIGHT[1])
    assert told.best is not None
    assert told.best.release == OLD
    assert not told.newest_is_safe


def test_of_calls_that_are_right_alike_the_one_that_most_advice_names_is_the_one_to_use():
    kv = defect("folded", Sign("values", "numbers differ"), workaround="save(m, f, retrace=False).")
    cells = [*RIGHT, record(at(NEW, Route.NO_RETRACE)), record(at(NEW, Route.NO_RETRACE_EXPORT))]
    wrong = record(at(OLD, Route.COMPILE), harmed(Harm.SILENT))

    def use(*cells: CellRecord, known: Defect = kv) -> Route:
        best = model_answer("mine", cells, (NEW, OLD), table(), register(known)).best
        assert best is not None
        return best.route

    assert use(*cells) is Route.RETRACE, "no defect is met, so the plainest"
    assert use(*cells, wrong) is Route.NO_RETRACE
    says_nothing = dataclasses.replace(kv, workaround="none")
    assert use(*cells, wrong, known=says_nothing) is Route.RETRACE
    avoided = dataclasses.replace(says_nothing, avoid=("export",))
    assert use(*cells, wrong, known=avoided) is Route.NO_RETRACE_EXPORT
    worse = record(at(NEW, Route.NO_RETRACE), harmed(Harm.INTERFACE))
    assert use(cells[0], worse, wrong) is Route.RETRACE, "the user's numbers come first"


def test_what_compile_makes_wrong_is_wrong_by_every_call():
    told = answer(
        record(at(NEW, Route.COMPILE), harmed(Harm.SILENT)),
        unsupported(at(NEW, Route.RETRACE), f"{NOT_COMPILED} the compiled module computes"),
    )
    saved = told.calls[NEW, Route.RETRACE]
    assert (saved.standing, saved.since_compile) == (Standing.SILENT, True)
    assert [call.route for call in told.failing] == [Route.COMPILE], "it is told once"


def test_a_failure_names_the_known_defect_whose_sign_it_bears_and_else_none():
    told = answer(
        record(at(NEW, Route.RETRACE), harmed(Harm.SILENT)),
        record(at(NEW, Route.NO_RETRACE), harmed(Harm.SILENT, "shape differs")),
    )
    named = {call.route: [c.defects for c in call.causes] for call in told.failing}
    assert named == {Route.RETRACE: [(DEFECT,)], Route.NO_RETRACE: [()]}


def test_a_defect_of_what_the_model_has_not_is_not_named():
    keywords = dataclasses.replace(DEFECT, models=("keywords",))
    either = dataclasses.replace(DEFECT, id="another", models=("keywords", "state"))
    silent = record(at(NEW, Route.RETRACE), harmed(Harm.SILENT))

    def named(*lacks: str) -> tuple[str, ...]:
        known = register(keywords, either)
        rows = dataclasses.replace(table(), lacking={"mine": lacks})
        told = model_answer("mine", [silent], (NEW,), rows, known)
        return tuple(defect.id for defect in told.failing[0].causes[0].defects)

    assert named() == ("lost-state", "another")
    assert named("keywords") == ("another",)
    assert named("keywords", "state") == ()


def test_a_defect_that_needs_what_is_not_there_is_not_named_whatever_else_is():
    needs = dataclasses.replace(DEFECT, models=("state",), needs=("strided-state",))
    assert needs.met_by(())
    assert needs.met_by(("sizes",))
    assert not needs.met_by(("strided-state",))
    assert not needs.met_by(("state",))


PACKED = "split module against eager: structure differs"


def test_a_save_packs_what_it_returns_as_the_compiled_module_does():
    told = answer(
        record(at(NEW, Route.COMPILE), harmed(Harm.INTERFACE, PACKED)),
        record(at(NEW, Route.RETRACE)),
        record(at(NEW, Route.NO_RETRACE), harmed(Harm.SILENT)),
    )
    assert told.calls[NEW, Route.RETRACE].standing is Standing.OTHER_FORM
    assert told.calls[NEW, Route.NO_RETRACE].standing is Standing.SILENT
    assert [call.route for call in told.failing] == [Route.COMPILE, Route.NO_RETRACE]


def test_a_save_that_has_a_lesser_cause_of_its_own_packs_its_results_as_the_compiled_module_too():
    told = answer(
        record(at(NEW, Route.COMPILE), harmed(Harm.INTERFACE, PACKED)),
        record(at(NEW, Route.RETRACE), harmed(Harm.INTERFACE, "another name")),
    )
    saved = told.calls[NEW, Route.RETRACE]
    assert saved.since_compile
    assert [cause.says for cause in saved.causes] == ["another name"]


@pytest.mark.parametrize(
    ("route", "harm", "says", "otherwise"),
    [
        (Route.COMPILE, Harm.INTERFACE, PACKED, True),
        (Route.COMPILE, Harm.COSMETIC, PACKED, False),
        (Route.COMPILE, Harm.INTERFACE, "numbers differ", False),
        (Route.RETRACE, Harm.INTERFACE, PACKED, False),
    ],
)
def test_the_compiled_module_alone_tells_that_results_are_packed_otherwise(
    route, harm, says, otherwise
):
    assert packs_otherwise(record(at(NEW, route), harmed(harm, says))) is otherwise


def test_the_packing_is_told_of_a_save_where_compile_does_worse():
    told = answer(
        record(
            at(NEW, Route.COMPILE),
            harmed(Harm.SILENT, f"split module against eager: numbers differ; {PACKED}"),
        ),
        record(at(NEW, Route.RETRACE)),
    )
    saved = told.calls[NEW, Route.RETRACE]
    assert saved.standing is Standing.OTHER_FORM
    assert [cause.says for cause in saved.causes] == [PACKED]


def test_a_packing_beside_wrong_numbers_is_not_told_as_silently_wrong_itself():
    says = f"split module against eager: numbers differ; {PACKED}"
    told = answer(record(at(NEW, Route.COMPILE), harmed(Harm.SILENT, says)))
    (cause,) = told.calls[NEW, Route.COMPILE].causes
    assert (cause.says, cause.harm) == ("split module against eager: numbers differ", Harm.SILENT)
    told = answer(record(at(NEW, Route.COMPILE), harmed(Harm.ERROR, PACKED)))
    assert told.calls[NEW, Route.COMPILE].standing is Standing.ERROR


@pytest.mark.parametrize(
    ("says", "title"),
    [
        ("ValueError: kwargs should not include None.", "a limit that torch_tensorrt.save states"),
        (
            "NotImplementedError: Can't serialize TreeSpec of namedtuple class <class '*'> because",
            "a refusal of torch.export.save itself",
        ),
        (
            "NotImplementedError: No registered serialization name for <class '*'> found. Please",
            "a refusal of torch.export.save itself",
        ),
        ("ValueError: something else", None),
    ],
)
def test_what_is_refused_on_purpose_is_no_unknown_defect(says, title):
    refusal = Cause((), says, Harm.ERROR).refusal
    assert (None if refusal is None else refusal.title.partition(":")[0]) == title
    assert Cause((DEFECT,), says, Harm.ERROR).refusal is None


def test_torch_itself_refuses_a_model_only_if_it_is_to_blame_for_every_save_of_the_newest_release():
    torchs, products = (
        harmed(Harm.ERROR, says)
        for says in (
            "NotImplementedError: No registered serialization name for <class '*'> found.",
            "ValueError: kwargs should not include None.",
        )
    )
    one = record(at(NEW, Route.RETRACE), torchs)
    assert answer(one).refused_by_torch
    for other in ((products,), (harmed(Harm.ERROR),), ()):
        assert not answer(one, record(at(NEW, Route.NO_RETRACE), *other)).refused_by_torch
    assert not answer().refused_by_torch


def test_what_torch_refuses_to_save_shows_nothing_else():
    refused = (
        "NotImplementedError: Can't serialize TreeSpec of namedtuple class <class '*'> because"
    )
    static = dataclasses.replace(
        failed(Oracle.SIGNATURE, "the dynamic dimension became static"), harm=Harm.ERROR
    )
    told = answer(
        record(at(NEW, Route.RETRACE), static, harmed(Harm.ERROR, refused)), releases=(NEW,)
    )
    assert [cause.says for cause in told.calls[NEW, Route.RETRACE].causes] == [refused]
    assert told.refused_by_torch


def test_what_could_not_be_asked_is_no_verdict_and_the_graph_lane_decides_nothing():
    told = answer(
        unsupported(at(NEW, Route.RETRACE), "no wheel"), record(at(NEW, Route.DIRECT, Lane.GRAPH))
    )
    assert told.could_not_be_asked
    assert not told.newest_is_safe


def test_an_upgrade_loses_the_calls_that_were_right_and_are_not_any_more():
    told = answer(
        record(at(NEW, Route.RETRACE), harmed(Harm.SILENT)),
        record(at(NEW, Route.NO_RETRACE)),
        record(at(OLD, Route.NO_RETRACE), harmed(Harm.ERROR)),
        RIGHT[1],
    )
    assert [call.route for call in calls_lost(told, OLD, NEW)] == [Route.RETRACE]
    assert [call.route for call in calls_lost(told, NEW, OLD)] == [Route.NO_RETRACE]


@pytest.mark.parametrize(
    ("lacks", "named"),
    [
        (("slice-scatter-by-default",), ["sort-by-the-last-dimension"]),
        (("slice-writes", "slice-scatter-by-default", "sort-by-default"), []),
    ],
)
def test_a_model_that_sorts_by_the_last_dimension_alone_meets_the_defect_of_it(lacks, named):
    """Python says the same of any index, so what the model has decides."""
    place = Place(Lane.PACKAGE, "mine", "nonstrict", Route.COMPILE)
    told = Fact("completion", "error@compile", "IndexError: tuple index out of range", "error")
    due = due_to(place, told, "2.13.0", table(), read_register(), lacks=lacks)
    assert [defect.id for defect in due] == named
