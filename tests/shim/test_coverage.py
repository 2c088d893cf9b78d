"""Every wrapped call is in the trace, exactly; what is not seen is known."""

from pathlib import Path

import pytest
from coverage_calls import Call, Runner, assert_counted, assert_recorded, seen_calls, unseen_calls
from differential import difference


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory, shim_library: Path) -> Runner:
    return Runner(tmp_path_factory.mktemp("coverage"))


@pytest.mark.parametrize("call", [*seen_calls(), *unseen_calls()], ids=lambda call: call.id)
def test_a_call_is_counted_as_it_says(call: Call, runner: Runner) -> None:
    result = runner.run(call)
    assert result.plain.status in (0, 7), result.plain
    assert_counted(result.counted, call.expected)
    assert_counted(result.recorded, call.expected)
    assert_recorded(result.recorded, call.expected)
    if not call.expected.file.count("?"):
        assert result.traced == result.plain, difference(result.plain, result.traced)
        assert result.with_events == result.plain, difference(result.plain, result.with_events)
