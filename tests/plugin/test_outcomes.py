"""What passes, what fails and what is skipped, as pytest's outcome and exit code."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import AGREEING, DIFFERING


def test_agreeing_sides_pass(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(AGREEING)
    result = pytester.runpytest()
    assert result.ret == 0
    result.assert_outcomes(passed=1)


def test_differing_sides_fail_with_the_report(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(DIFFERING)
    result = pytester.runpytest()
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*DIVERGE*", "*first difference: q*", "*reproduce: python -m *"])


@pytest.mark.parametrize("style", ["auto", "long", "short", "line", "native", "no"])
def test_every_traceback_style_reports_the_failure(pytester: pytest.Pytester, style: str) -> None:
    pytester.makepyfile(DIFFERING)
    result = pytester.runpytest(f"--tb={style}")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*critic *1.0e-03*1.0e-06*diverge*", "FAILED *test_critic*"])


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ("torch={'q': np.zeros(3)}, tf={'q': np.zeros(3)}", "zero"),
        ("torch={'q': np.ones(0)}, tf={'q': np.ones(0)}", "*"),
        ("torch={}, tf={}", "*"),
        ("torch=same, tf=same", "agrees with itself"),
    ],
    ids=["zeros", "empty", "nothing", "one object"],
)
def test_a_vacuous_comparison_fails(pytester: pytest.Pytester, arguments: str, kind: str) -> None:
    pytester.makepyfile(
        f"import numpy as np\nsame = {{'q': np.ones(3)}}\n"
        f"def test_it(parity):\n    parity.compare({arguments})"
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*INVALID*", f"*{kind}*"])


def test_a_test_that_compares_nothing_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(parity):\n    pass")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*compared nothing*"])


def test_a_marked_test_without_comparison_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        AGREEING + "\nimport pytest\n@pytest.mark.parity\ndef test_empty():\n    pass"
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["COMPARED NOTHING though marked parity: 1", "*::test_empty"])


def test_an_exception_is_counted_as_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(parity):\n    raise ValueError('rank 2, got 1')")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["0 checks: none ran*", "RAISED before a verdict: 1"])


def test_the_fixture_marks_its_tests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(AGREEING + "\ndef test_other():\n    pass")
    result = pytester.runpytest("-m", "parity", "--strict-markers")
    result.assert_outcomes(passed=1, deselected=1)


def test_gpu_tests_stay_out_of_the_cpu_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.gpu\ndef test_it(parity):\n    assert 0")
    assert pytester.runpytest("-m", "parity").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_expected_failures_are_not_errors(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n" + DIFFERING.replace("def", "@pytest.mark.xfail\ndef"))
    result = pytester.runpytest()
    assert result.ret == 0
    assert "RAISED" not in result.stdout.str()


class TestRequirements:
    SKIPPING = "def test_it(parity):\n    parity.require('numpy', 'no_such_package')"

    def test_a_missing_package_is_a_loud_skip(self, pytester: pytest.Pytester) -> None:
        pytester.makepyfile(self.SKIPPING)
        result = pytester.runpytest()
        assert result.ret == 0
        result.assert_outcomes(skipped=1)
        result.stdout.fnmatch_lines(["SKIPPED 1 check: no_such_package is not installed (1)"])

    def test_a_required_one_is_a_failure(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PARITY_REQUIRE", "torch,gym")
        monkeypatch.setattr("parity.requirements._installed", lambda name: name != "gym")
        pytester.makepyfile("def test_it(parity):\n    parity.require('gym')")
        result = pytester.runpytest()
        assert result.ret == 1
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["*PARITY_REQUIRE: gym is required but not installed*"])

    def test_a_required_one_that_no_test_asked_for_fails_the_run(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PARITY_REQUIRE", "tf")
        monkeypatch.setattr("parity.requirements._installed", lambda _: False)
        pytester.makepyfile(AGREEING)
        result = pytester.runpytest()
        result.assert_outcomes(passed=1)
        assert result.ret == 1
        result.stdout.fnmatch_lines(["PARITY_REQUIRE: required but not installed: tensorflow"])

    @pytest.mark.parametrize("value", ["torhc", "torch,tensorflw", "jax"])
    def test_a_misspelt_name_is_a_usage_error(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, value: str
    ) -> None:
        monkeypatch.setenv("PARITY_REQUIRE", value)
        pytester.makepyfile(AGREEING)
        result = pytester.runpytest()
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*PARITY_REQUIRE: unknown package*"])

    @pytest.mark.parametrize(
        ("source", "arguments"),
        [
            ("def test_other():\n    pass", ["-m", "parity"]),
            ("import pytest\n@pytest.mark.parity\ndef test_it():\n    pass", []),
            ("import pytest\n@pytest.mark.parity\ndef test_it():\n    pytest.skip('no')", []),
        ],
        ids=["none selected", "no comparison", "all skipped"],
    )
    def test_a_run_without_a_check_is_not_green(
        self,
        pytester: pytest.Pytester,
        monkeypatch: pytest.MonkeyPatch,
        source: str,
        arguments: list[str],
    ) -> None:
        monkeypatch.setenv("PARITY_REQUIRE", "torch")
        monkeypatch.setattr("parity.requirements._installed", lambda _: True)
        pytester.makepyfile(source)
        result = pytester.runpytest(*arguments)
        assert result.ret == 1
        result.stdout.fnmatch_lines(["*executed no parity check*"])

    def test_other_runs_are_not_concerned(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PARITY_REQUIRE", "torch")
        monkeypatch.setattr("parity.requirements._installed", lambda _: True)
        pytester.makepyfile("def test_other():\n    pass")
        assert pytester.runpytest().ret == 0
        assert pytester.runpytest("-m", "not parity").ret == 0
