"""What a stage took, and what a process spent, are two things."""

import time

from harness.rig.clock import StageClock
from harness.wire.vocabulary import Stage

NAP_S = 0.01


def nap(clock: StageClock, stage: Stage) -> None:
    with clock.during(stage):
        time.sleep(NAP_S)


def test_the_visits_of_a_stage_add_up():
    clock = StageClock()
    nap(clock, Stage.SAVE)
    once = clock.seconds[Stage.SAVE]
    nap(clock, Stage.SAVE)
    assert clock.seconds[Stage.SAVE] >= once + NAP_S
    assert clock.spent_seconds == clock.seconds[Stage.SAVE]


def test_what_is_credited_was_not_spent():
    clock = StageClock()
    clock.credit({Stage.LOAD: 5.0})
    assert (clock.seconds[Stage.LOAD], clock.spent_seconds) == (5.0, 0.0)


def test_a_stage_gone_through_again_is_spent_and_takes_no_longer():
    clock = StageClock()
    nap(clock, Stage.SAVE)
    once = clock.seconds[Stage.SAVE]
    nap(clock.again(), Stage.SAVE)
    assert clock.seconds[Stage.SAVE] == once
    assert clock.spent_seconds >= once + NAP_S


def test_after_an_exception_the_stage_is_where_it_happened():
    clock = StageClock()
    try:
        with clock.during(Stage.EXPORT):
            raise LookupError
    except LookupError:
        pass
    assert clock.stage is Stage.EXPORT
    assert clock.seconds[Stage.EXPORT] >= 0
