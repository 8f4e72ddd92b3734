"""The conformance suite: every kind of table answers it, and a wrong tool is caught."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import math
import subprocess
import sys
import unicodedata
from collections import Counter

import numpy as np
import oracle
import pytest
import validation

from anonrisk import testing
from anonrisk.accessor import FUNCTIONS, ON_CLASSES
from anonrisk.errors import ArgumentError
from anonrisk.testing.__main__ import main
from anonrisk.testing.case import SmallColumn
from anonrisk.testing.tables import KINDS

HAND = tuple(validation.by_hand())
# What says which cells are equal, and what is no number.
SOME = [
    case
    for case in HAND
    if case.label in ("k", "classes", "uniqueness", "alpha", "ldiv distinct", "kmap")
]
BY_ID = {case.id: case for case in testing.cases()}
# By day they are asked little.
OF_SPARK = {"spark", "connect", "pandas-on-spark"}
# Words that change tables, hold roles, write pages or are keyed: no number is right for all.
NO_NUMBERS = {
    *("apply", "declare", "explore", "generalize", "microaggregate", "permute", "perturb", "plan"),
    *("pseudonymize", "report", "roles", "sketch", "state", "suppress", "was_perturbed"),
}


def tool_of(frame, request):
    """anonrisk on tables of the kind that a lane asks for, as the suite builds them itself."""
    name = {"pyarrow": "arrow"}.get(frame.kind, frame.kind.replace("_", "-"))
    if name not in KINDS:
        pytest.skip("a table that holds another")
    if name == "postgresql":
        return testing.engine(f"{name}={request.getfixturevalue('postgres')}")
    return testing.engine(name)


@pytest.mark.contract
def test_every_kind_of_table_conforms(frame, request):
    tool = tool_of(frame, request)
    # Two hundred questions take Spark minutes: by day some that say what equal means.
    few = [case for case in SOME if case.label == "k"]
    report = testing.run(tool, cases=few if tool.name in OF_SPARK else HAND)
    assert report.differences == ()
    if tool.name not in OF_SPARK:
        assert validation.row_by_hand(report) == validation.on_page(validation.ROWS)[tool.name][:2]


@pytest.mark.nightly
def test_every_kind_of_table_answers_everything(frame, request):
    tool = tool_of(frame, request)
    report = testing.run(tool)
    assert report.differences == ()
    *hand, arx = validation.on_page(validation.ROWS)[tool.name]
    assert validation.row_by_hand(report) == hand
    assert arx in ("by night", validation.row_by_arx(report))


@pytest.mark.slow
def test_the_page_has_the_numbers_of_a_run():
    report = testing.run(testing.engine("pandas"))
    found = {first: rest for first, *rest in validation.rows_of_measures(report)}
    assert found == validation.on_page(validation.MEASURES)
    assert report.passed


def test_the_page_names_what_was_stored():
    stored = json.loads(validation.STORED.read_text())
    page = validation.PAGE.read_text(encoding="utf-8")
    assert f"pycanon is version {stored['version']}" in page
    assert {*stored["outcomes"]} <= {*BY_ID}
    assert {*validation.on_page(validation.ROWS)} == {*KINDS}


# ---- the answers themselves -----------------------------------------------------------------


def test_every_measure_is_asked():
    words = {function.__name__ for function in FUNCTIONS} - NO_NUMBERS
    assert words | {*ON_CLASSES} == {case.measure for case in HAND}
    assert all(case.why for case in HAND)


ORACLES = {
    "k": oracle.k,
    "uniqueness": oracle.uniqueness,
    "alpha": oracle.alpha,
    "beta_likeness basic": oracle.beta,
    "delta_disclosure": oracle.delta,
    "entropy": oracle.entropy,
    "degree": oracle.degree,
    "ldiv distinct": oracle.ldiv,
    "ldiv entropy": oracle.ldiv,
    "ldiv recursive": oracle.ldiv,
}


def test_answers_by_hand_are_those_of_the_oracle():
    asked = Counter()
    for case in HAND:
        options = {name: value for name, value in case.options.items() if value != "basic"}
        taken = {"unit", "variant", "c"} | (
            {"missing"} if case.label in ("k", "uniqueness") else set()
        )
        if (
            case.label not in ORACLES
            or case.error
            or {*options} - taken
            or "wildcard" in options.values()
        ):
            continue
        about = [case.table.rows(), list(case.qids), *filter(None, [case.sensitive])]
        assert case.is_right(ORACLES[case.label](*about, **options)), case.id
        asked[case.label] += 1
    assert {*asked} == {*ORACLES}


def test_values_of_the_literature_are_those_of_the_reference(reference):
    known = [case for case in HAND if case.source != "by hand"]
    assert len(known) > 8
    for case in known:
        row = reference[case.source]
        if case.source in ("recursive_cl", "BF_risk"):
            continue
        right = row["value"] if isinstance(row["value"], list) else [row["value"]]
        own = case.answer.values() if case.attributes else [case.answer]
        assert [*own][: len(right)] == pytest.approx(right, abs=row["abs_tol"] + 1e-12), case.id
    assert reference["recursive_cl"]["value"] is False
    assert BY_ID["ldiv-recursive-reference"].answer < reference["recursive_cl"]["inputs"]["l"]


def test_answers_of_arx_are_those_of_its_file(shared):
    path = shared / "data" / "arx_answers.json"
    tables = json.loads(path.read_text())["tables"]
    assert sum(len(table["cases"]) for table in tables) == 893
    for number, table in enumerate(tables, start=1):
        places = Counter()
        for given in table["cases"]:
            word = given["ask"].partition(",")[0].replace(" ", "-")
            places[word] += 1
            key = f"arx-{number}-{word}-{places[word]}"
            if word == "numbers":
                risks = [given[f"prosecutor_{which}"] for which in ("highest", "average")]
                assert [*BY_ID[f"{key}-risk"].answer.values()][:2] == risks
                assert BY_ID[f"{key}-unique"].answer == given["unique_share"]
                continue
            case = BY_ID[key]
            assert case.answer is given["holds"]
            whole = case.population or case.table
            assert [[*row.values()] for row in whole.rows()] == table["rows"]
            if word == "delta-presence":
                assert case.limit == {name: given[name] for name in ("lowest", "highest")}
            elif word == "delta-disclosure":
                assert case.limit == pytest.approx(given["limit"] * math.log(2))
            else:
                assert given["limit"] in (
                    case.limit,
                    *dict(case.limit if case.attributes else ()).values(),
                )
            assert case.options.get("c") == given.get("c")


# ---- a wrong tool is caught -----------------------------------------------------------------

PLAIN = testing.engine("pandas")


def with_cells(change, kinds=None):
    """A tool that sees other cells than there are: all of them changed, or those of some kinds."""

    def changed(column):
        if kinds is not None and column.kind not in kinds:
            return column
        cells = tuple(cell if cell is None else change(cell) for cell in column.cells)
        return SmallColumn(column.kind, cells, (), column.zone)

    def build(table):
        columns = {name: changed(column) for name, column in table.columns.items()}
        return dataclasses.replace(table, columns=columns).to_pandas()

    return testing.OwnTool("wrong", build)


def with_options(**options):
    """A tool that is asked with other options than were given; None takes one away."""

    def ask(case):
        changed = {k: v for k, v in {**case.options, **options}.items() if v is not None}
        return PLAIN(dataclasses.replace(case, options=changed))

    return ask


def of_unused(case):
    """A tool to which a category that no record has is a class of none."""
    answer = PLAIN(case)
    columns = [case.table.columns.get(name) for name in case.qids]
    unused = any(column and {*column.levels} - {*column.cells} for column in columns)
    return 0 if unused and case.label == "k" else answer


def text_only(change):
    return lambda cell: change(cell) if isinstance(cell, str) else cell


WRONG = {
    "minus zero is another value": (
        with_cells(lambda x: 1e-300 if str(x) == "-0.0" else x, {"float"}),
        {"minus-zero", "minus-zero-second-column", "minus-zero-sensitive"},
    ),
    "NaN is another value than NULL": (
        with_cells(lambda x: 1e300 if x != x else x, {"float"}),
        {"nan-null-k", "nan-null-classes", "nan-null-drop", "minus-zero-second-column"},
    ),
    "missing values are left out": (
        with_options(missing="drop"),
        {"missing-k", "missing-value", "nan-null-classes", "all-missing", "missing-qid-l"},
    ),
    "missing values match everything": (
        lambda case: with_options(missing="wildcard" if case.measure == "k" else None)(case),
        {"missing-k-drop", "minus-zero-second-column", "missing-category"},
    ),
    "rows for persons": (
        with_options(unit=None),
        {"unit-k", "unit-classes", "unit-uniqueness", "unit-alpha", "unit-ldiv-persons"},
    ),
    "case is ignored": (with_cells(text_only(str.casefold)), {"exact-case", "exact-sharp"}),
    "texts are stripped": (
        with_cells(text_only(str.strip)),
        {"exact-space", "exact-before", "exact-empty"},
    ),
    "normal forms are one": (
        with_cells(text_only(lambda x: unicodedata.normalize("NFKC", x))),
        {"exact-form", "exact-width"},
    ),
    "an empty text is missing": (
        with_cells(lambda x: None if x == "" else x, {"text"}),
        {"empty-is-not-missing", "empty-is-not-dropped"},
    ),
    "words are missing": (
        with_cells(lambda x: None if x in ("NA", "null", "nan") else x, {"text"}),
        {"words-are-not-missing"},
    ),
    "integers are floats": (
        with_cells(lambda x: int(float(x)) // 4 * 4, {"integer"}),
        {"large-integers", "large-integers-missing", "widest-integers"},
    ),
    "floats are rounded": (with_cells(lambda x: round(x, 9), {"float"}), {"floats-exact"}),
    "instants are times on a clock": (
        with_cells(lambda x: x.replace(tzinfo=dt.UTC, fold=0), {"zoned"}),
        {"zone-kmap", "clock-change"},
    ),
    "instants are cut to seconds": (
        with_cells(lambda x: x.replace(microsecond=0), {"instant"}),
        {"type-instant"},
    ),
    "unused categories are classes": (of_unused, {"unused-category-k"}),
    "errors are numbers": (
        lambda case: 0 if case.error else PLAIN(case),
        {"empty-k", "unknown-column", "population-lacks", "unit-missing", "missing-error"},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_tool_is_caught(wrong):
    tool, ids = WRONG[wrong]
    report = testing.run(tool, cases=SOME)
    assert ids <= {answer.case for answer in report.differences}
    assert not report.passed
    # What the slip has nothing to do with is still right.
    assert len(report.differences) < len(SOME) / 3


@pytest.mark.slow
def test_every_measure_that_is_off_is_caught():
    def off(answer):
        if isinstance(answer, dict):
            return {name: off(value) for name, value in answer.items()}
        if isinstance(answer, list):
            return [*map(off, answer)]
        return (
            answer + 1 if isinstance(answer, int) else 0.0 if math.isinf(answer) else answer + 1e-9
        )

    report = testing.run(lambda case: off(PLAIN(case)), cases=HAND)
    for label, outcomes in report.counts("<lambda>").items():
        errors = sum(case.error is not None for case in HAND if case.label == label)
        forgiven = sum(case.tolerance > 1e-12 for case in HAND if case.label == label)
        assert outcomes["agrees"] <= errors + forgiven, label
        assert outcomes["differs"] or forgiven, label


# Slips of a formula that other tools have made, or that a reader of the papers may make.
FORMULAS = {
    "logarithm to the base of 2": ("delta_disclosure", lambda x: x / math.log(2), "delta"),
    "entropy cut to whole numbers": ("ldiv entropy", int, "ldiv-entropy"),
    "no infinity": ("beta_likeness enhanced", lambda x: min(x, 1.0), "beta-enhanced-none"),
    "not divided by m - 1": ("tcloseness ordered", lambda x: x * 2, "t-ordered"),
    "not halved": ("tcloseness equal", lambda x: x * 2, "t-equal"),
    "the other way round": ("degree", lambda x: 1 - x, "degree"),
    "bits for values": ("anvc", math.log2, "anvc"),
}


@pytest.mark.parametrize("slip", FORMULAS)
def test_a_wrong_formula_is_caught(slip):
    label, change, caught = FORMULAS[slip]
    cases = [case for case in HAND if case.label == label and not case.error]
    report = testing.run(lambda case: change(PLAIN(case)), cases=cases)
    assert caught in {answer.case for answer in report.differences}


# ---- outcomes, reports and the command ------------------------------------------------------


def test_a_refusal_that_is_not_listed_is_a_difference():
    def refusing(case):
        raise RuntimeError(case.table.rows())

    (case,) = [case for case in HAND if case.id == "k"]
    report = testing.run(refusing, cases=[case])
    assert [(a.outcome, a.expected) for a in report.answers] == [("refuses", False)]
    assert report.answers[0].said == "refuses with RuntimeError"
    refusing.refusals = {"k": "a reason"}
    assert testing.run(refusing, cases=[case]).passed


def test_a_listed_refusal_that_is_answered_is_a_difference():
    tool = dataclasses.replace(PLAIN, refusals={"k": "a reason"})
    report = testing.run(tool, cases=[BY_ID["k"]])
    assert not report.passed
    assert "is listed as refused, and answers" in str(report)


def test_what_a_tool_does_not_have_is_no_difference_and_no_answer():
    def nothing(case):
        raise NotImplementedError

    report = testing.run(nothing, cases=[BY_ID["k"], BY_ID["empty-k"]])
    assert [(a.outcome, a.expected, a.has) for a in report.answers] == [
        ("refuses", True, False)
    ] * 2
    # Whoever answers nothing has not passed, and anonrisk has everything.
    assert not report.passed
    assert "no answer by nothing" in str(report)


def test_anonrisk_has_every_measure_and_refuses_in_its_own_words(monkeypatch):
    listed = dataclasses.replace(PLAIN, refusals={"k": "a reason"})
    for kind in (NotImplementedError, ZeroDivisionError):

        def broken(*_, kind=kind, **__):
            raise kind

        monkeypatch.setattr("anonrisk.k", broken)
        assert not testing.run(PLAIN, cases=[BY_ID["k"]]).passed
        assert not testing.run(listed, cases=[BY_ID["k"]]).passed


@pytest.mark.parametrize(
    "answer",
    [math.nan, None, "x", np.zeros((0, 2)), np.arange(3), 10**400, 10**5000, {}, object()],
    ids=range(9),
)
def test_no_answer_that_is_none_is_right(answer):
    report = testing.run(lambda case: answer)
    # A number that no float holds is still above a limit.
    assert isinstance(answer, int) or {a.outcome for a in report.answers} == {"differs"}
    assert not report.passed
    assert str(report)


def test_a_tool_that_ends_the_process_refuses():
    def leaving(case):
        raise SystemExit(0)

    assert not testing.run(leaving, cases=[BY_ID["k"]]).passed


def test_an_error_of_ours_must_be_the_right_one():
    def wrong(case):
        raise ArgumentError("no")

    assert not testing.run(wrong, cases=[BY_ID["empty-k"]]).passed


def test_a_question_is_asked_once():
    asked = []

    def counting(case):
        asked.append(case.id)
        return PLAIN(case)

    some = [case for case in testing.cases() if case.id.startswith("arx-1-k-")]
    assert len(some) == 2
    assert testing.run(counting, cases=some).passed
    assert len(asked) == 1


def test_reports_print_without_surprises():
    def wrong(case):
        return "<b>|\x1b[0m"

    report = testing.run(PLAIN, wrong, cases=[BY_ID["k"], BY_ID["minus-zero"]])
    assert report.tools == ("pandas", "wrong")
    assert "\x1b" not in str(report) + report.to_markdown() + report._repr_html_()
    assert "<b>" not in report._repr_html_()
    assert "| wrong | k | 0 of 2 | 2 | 0 |" in report.to_markdown()
    assert json.loads(json.dumps(report.to_dict()))["versions"]["wrong"] == ""
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.answers = ()


def test_the_command(tmp_path, capsys):
    path = tmp_path / "r.json"
    given = ["--engine", "pandas,pandas-object", "--case", "minus-zero"]
    assert main([*given, "--json", str(path)]) == 0
    assert "every answer is right" in capsys.readouterr().out
    assert len(json.loads(path.read_text())["answers"]) == 6
    assert main([*given, "--markdown"]) == 0
    assert "| pandas | all | 3 of 3 | 0 | 0 |" in capsys.readouterr().out
    assert main(["--adapter", "test_testing:of_unused", "--case", "unused"]) == 1
    assert "of_unused, unused-category-k: 0 where 2 is right" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--engine", "pandas", "--case", "no such case"])


@pytest.mark.parametrize(
    "given",
    [
        ["--engine", "pandaz"],
        ["--engine", "postgresql"],
        ["--engine", "pandas=x"],
        ["--adapter", "no_such_module:f"],
        ["--adapter", "anonrisk.testing:no_such"],
        ["--adapter", "anonrisk.testing:ARX"],
    ],
)
def test_wrong_usage_is_told(given, capsys):
    with pytest.raises(SystemExit) as ended:
        main(given)
    assert ended.value.code == 2
    assert "error: " in capsys.readouterr().err


@pytest.mark.slow
def test_importing_the_package_does_not_load_the_suite():
    code = "import sys, anonrisk; print([m for m in sys.modules if 'anonrisk.testing' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
