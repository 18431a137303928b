"""Tables as Markdown, LaTeX and text, and what they mark; none of it needs an extra."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.errors import DataError
from tests.tables.shared import HOSTILE, NAMES, SUMMARY, compared, summary_of

VALUES = summary_of({"bm25": {"map": 0.4, "num_ret": 900.0}, "my_run": {"map": 0.5, "num_ret": 1000.0}})
PAIRS = compared([("my_run", "bm25", 0.1, True)])

MARKDOWN = """\
Summary (n = 50)

| letter | run | map | num\\_ret |
| :--- | :--- | ---: | ---: |
| a | bm25 | 0.40 [0.30, 0.50] | 900 [900, 900] |
| b | my\\_run | **0.50**<sup>a</sup> [0.40, 0.60] | 1000 [1000, 1000] |

- Bold: the best value of each metric.
- Superscripts: the letters of the runs that the value is significantly better than (paired randomisation test, \
p corrected by Holm; compared: runs against bm25).
- Without letters: num\\_ret.
- In brackets: bootstrap intervals.
"""

LATEX = r"""% needs \usepackage{booktabs}
\begin{table}
\centering
\caption{Results on 50\% (n = 50)}
\label{tab:results}
\begin{tabular}{llrr}
\toprule
letter & run & map & num\_ret \\
\midrule
a & bm25 & 0.40 {\scriptsize [0.30, 0.50]} & 900 {\scriptsize [900, 900]} \\
b & my\_run & \textbf{0.50}\textsuperscript{a} {\scriptsize [0.40, 0.60]} & 1000 {\scriptsize [1000, 1000]} \\
\bottomrule
\end{tabular}
\begin{flushleft}\footnotesize
Bold: the best value of each metric.\par
Superscripts: the letters of the runs that the value is significantly better than (HOW).\par
Without letters: num\_ret.\par
In brackets: bootstrap intervals.\par
\end{flushleft}
\end{table}
""".replace("HOW", "paired randomisation test, p corrected by Holm; compared: runs against bm25")

COMPARISON = """\
Comparison (n = 50)

| metric | run | other | difference | relative | W/T/L | effect size | p | corrected p |
| :--- | :--- | :--- | ---: | ---: | ---: | ---: | ---: | ---: |
| map | b | a | +0.10<sup>\\*</sup> [+0.05, +0.15] | +25.0 % | 30/5/15 | 0.20 | &lt; 0.001 | &lt; 0.001 |
| map | c | a | -0.20 [-0.25, -0.15] | -50.0 % | 30/5/15 | -0.40 | 0.400 | 0.800<sup>a</sup> |

- Difference: the mean of run minus that of other; in brackets its bootstrap interval. \\*: significant \
(paired randomisation test, p corrected by Holm).
- W/T/L: wins, ties and losses of run. Effect size: mean by standard deviation of the differences.
- a: few queries.
"""


def test_a_summary_in_markdown() -> None:
    assert rf.tables.summary(VALUES, comparison=PAIRS, digits=2).markdown() == MARKDOWN


def test_a_summary_in_latex() -> None:
    table = rf.tables.summary(VALUES, comparison=PAIRS, digits=2, caption="Results on 50%")
    assert table.latex(label="tab:results") == LATEX


def test_a_comparison_in_markdown() -> None:
    rows = [
        compared([("b", "a", 0.1, True)]),
        compared([("c", "a", -0.2, False)], reason="few queries", few_queries=True),
    ]
    assert rf.tables.comparisons(pl.concat(rows), digits=2).markdown() == COMPARISON


def test_a_comparison_in_latex_has_true_minus_signs() -> None:
    written = rf.tables.comparisons(compared([("c_1", "a", -0.2, True)]), digits=2).latex()
    assert (
        r"map & c\_1 & a & $-$0.20\textsuperscript{{*}} {\scriptsize [$-$0.25, $-$0.15]} & $-$50.0 \% & 30/5/15 & "
        r"$-$0.40 & \textless{} 0.001 & \textless{} 0.001 \\"
    ) in written.splitlines()


def test_a_table_says_the_same_as_text() -> None:
    lines = repr(rf.tables.summary(VALUES, comparison=PAIRS, digits=2)).splitlines()
    assert lines[:4] == [
        "Summary (n = 50)",
        "letter     run                   map            num_ret",
        "a         bm25     0.40 [0.30, 0.50]     900 [900, 900]",
        "b       my_run  *0.50^a [0.40, 0.60]  1000 [1000, 1000]",
    ]


def test_a_report_tells_its_unit_and_the_level_of_its_intervals() -> None:
    runs = {"a": {"q1": {"d1": 1.0}, "q2": {"d9": 1.0}}, "b": {"q1": {"d1": 1.0}}}
    report = rf.evaluate(runs, {"q1": {"d1": 1}, "q2": {"d2": 1}}, metrics="mrr").with_intervals(level=0.9)
    table = rf.tables.summary(report)
    assert table.grid.caption == "Summary (2 queries)"
    assert "In brackets: 90 % bootstrap intervals." in table.grid.notes
    assert "Without a result, counted as 0: 1 of b." in table.grid.notes
    assert rf.tables.summary(report.summary).grid.rows == table.grid.rows


@pytest.mark.parametrize(
    ("values", "best"),
    [
        ({"a": 0.1, "b": 0.3, "c": 0.2}, ["b"]),
        ({"a": 0.3, "b": 0.3, "c": 0.2}, ["a", "b"]),
        ({"a": -0.3, "b": -0.1, "c": None}, ["b"]),
        ({"a": 0.123441, "b": 0.123449, "c": 0.1}, ["a", "b"]),  # shown with four digits
        ({"a": float("nan"), "b": 0.0, "c": float("-inf")}, ["b"]),
        ({"a": 0.0, "b": -0.0}, ["a", "b"]),
        ({"a": 0.5, "b": None}, []),
        ({"a": None}, []),
    ],
)
def test_the_best_values_are_marked(values: dict[str, float | None], best: list[str]) -> None:
    table = rf.tables.summary(summary_of({run: {"map": value} for run, value in values.items()}))
    assert table.frame.filter("best")["run_id"].to_list() == best
    assert [row[0].text for row in table.grid.rows if row[1].best] == best


@pytest.mark.parametrize("metric", ["judged@10", "unjudged@10", "num_ret", "num_rel"])
def test_where_more_is_not_better_nothing_is_marked(metric: str) -> None:
    values = summary_of({"a": {metric: 1.0}, "b": {metric: 2.0}})
    assert not rf.tables.summary(values).frame["best"].any()
    assert rf.tables.summary(values, lower_is_better=metric).frame["best"].to_list() == [True, False]


def test_where_more_is_not_better_there_are_no_letters() -> None:
    both = {"judged@10": 0.5, "map": 0.1}
    pairs = [compared([("b", "a", 0.1, True)], metric=metric) for metric in both]
    values = summary_of({"a": both, "b": both})
    table = rf.tables.summary(values, comparison=pl.concat(pairs))
    assert table.frame.filter(run_id="b")["exceeds"].to_list() == [None, ["a"]]
    assert "Without letters: judged@10." in table.grid.notes
    alone = rf.tables.summary(values, comparison=pairs[0], intervals=False, metrics="judged@10")
    assert alone.grid.notes == ["Without letters: judged@10."]


def test_where_lower_is_better_the_letters_turn_too() -> None:
    values = summary_of({"a": {"seconds": 1.0}, "b": {"seconds": 2.0}})
    pairs = compared([("b", "a", 1.0, True)], metric="seconds")
    table = rf.tables.summary(values, comparison=pairs, lower_is_better=["seconds"])
    assert table.frame["exceeds"].to_list() == [["b"], []]
    assert "Bold: the best value of each metric, the lowest of seconds." in table.grid.notes


def _letters(pairs: list[tuple[str, str, float, bool]], runs: str = "abc") -> list[str]:
    values = summary_of({f"run {run}": {"map": 0.1} for run in runs})
    rows = [(f"run {run}", f"run {other}", difference, significant) for run, other, difference, significant in pairs]
    return [row[2].raised for row in rf.tables.summary(values, comparison=compared(rows)).grid.rows]


def test_letters_of_all_pairs() -> None:
    """Whichever way round a pair stands."""
    pairs = [("a", "b", -0.1, True), ("a", "c", -0.2, True), ("b", "c", -0.1, False)]
    assert _letters(pairs) == ["", "a", "a"]
    assert _letters([("c", "a", 0.2, True), ("c", "b", 0.1, True), ("b", "a", 0.1, True)]) == ["", "a", "ab"]


def test_letters_of_one_baseline() -> None:
    assert _letters([("b", "a", 0.1, True), ("c", "a", -0.1, True)]) == ["c", "a", ""]


def test_letters_of_several_baselines() -> None:
    assert _letters([("c", "a", 0.1, True), ("c", "b", 0.1, True)]) == ["", "", "ab"]


def test_what_has_no_p_or_no_difference_has_no_letter() -> None:
    assert _letters([("b", "a", 0.0, True), ("c", "a", 0.1, False)]) == ["", "", ""]
    values = summary_of({"a": {"map": 0.1}, "b": {"map": 0.2}})
    pairs = compared([("b", "a", 0.1, True)], p=None, p_corrected=None, significant=None, reason="one query")
    table = rf.tables.summary(values, comparison=pairs)
    assert table.frame["exceeds"].to_list() == [[], []]
    assert [note for note in table.grid.notes if note.startswith("No value is significantly better than that of")]
    assert "Of 1 comparison: one query in 1." in table.grid.notes


def test_runs_beyond_26_get_two_letters_which_are_kept_apart() -> None:
    runs = [f"r{i:02}" for i in range(28)]
    values = summary_of({run: {"map": 0.1} for run in runs})
    rows = [("r00", "r01", 0.1, True), ("r00", "r26", 0.1, True), ("r00", "r27", 0.1, True)]
    grid = rf.tables.summary(values, comparison=compared(rows)).grid
    assert [row[0].text for row in grid.rows][-3:] == ["z", "aa", "ab"]
    assert grid.rows[0][2].raised == "b,aa,ab"


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([("b", "a"), ("c", "a"), ("c", "b")], "all pairs of runs"),
        ([("b", "a"), ("c", "a")], "runs against a"),
        ([("c", "a"), ("c", "b")], "runs against a, b"),
    ],
)
def test_a_note_tells_what_was_compared_with_what(pairs: list[tuple[str, str]], words: str) -> None:
    values = summary_of({run: {"map": 0.1} for run in "abc"})
    rows = compared(((*pair, 0.1, True) for pair in pairs), test="wilcoxon", correction=None)
    notes = rf.tables.summary(values, comparison=rows.with_columns(alpha=pl.lit(0.01))).grid.notes
    told = f"(Wilcoxon signed-rank test, p uncorrected, alpha = 0.01; compared: {words})."
    assert [note for note in notes if note.startswith("Superscripts") and note.endswith(told)]


def test_runs_of_the_comparison_that_are_not_shown_are_told() -> None:
    rows = compared([("b", "a", 0.1, True), ("c", "a", 0.1, True)])
    values = summary_of({"a": {"map": 0.1}, "b": {"map": 0.2}})
    assert "Compared too, and not shown: c." in rf.tables.summary(values, comparison=rows).grid.notes


def test_a_geometric_mean_takes_no_letters_of_a_test_of_means() -> None:
    both = pl.concat([summary_of({"a": {"map": 0.1}, "b": {"map": 0.2}}, aggregate=how) for how in ("mean", "gmean")])
    table = rf.tables.summary(both, comparison=compared([("b", "a", 0.1, True)]))
    assert table.frame.filter(run_id="b")["exceeds"].to_list() == [["a"], None]
    assert "Without letters: map (gmean)." in table.grid.notes


def test_metrics_are_chosen_by_any_of_their_names() -> None:
    table = rf.tables.summary(VALUES, metrics=["num_ret", "AP", "map"])
    assert [column.heading for column in table.grid.columns] == ["run", "num_ret", "map"]


def test_numbers_over_different_counts_say_so() -> None:
    by_run = pl.concat([summary_of({"a": {"x": 0.1, "y": 0.2}}), summary_of({"b": {"x": 0.1, "y": 0.2}}, n=1049)])
    grid = rf.tables.summary(by_run, intervals=False).grid
    assert [column.heading for column in grid.columns] == ["run", "n", "x", "y"]
    assert [row[1].text for row in grid.rows] == ["50", "1,049"]
    by_metric = pl.concat([summary_of({"a": {"x": 0.1}}), summary_of({"a": {"y": 0.1}}, n=7)])
    assert [cell.beside for cell in rf.tables.summary(by_metric).grid.rows[0]] == [
        "",
        "[0.0000, 0.2000], n = 50",
        "[0.0000, 0.2000], n = 7",
    ]


def test_what_has_no_number_says_why() -> None:
    values = pl.concat(
        [
            summary_of({"a": {"x": 0.1, "y": 0.2}}, ci_low=None, ci_high=None, ci_reason="one query"),
            summary_of({"b": {"x": None}}, n=0, n_null=3, ci_reason="no query"),
            summary_of({"c": {"x": 0.3, "y": 0.2}}, n_failed=2),
        ]
    )
    table = rf.tables.summary(values)
    assert [cell.text for cell in table.grid.rows[1]] == ["b", "0", "-", "-"]
    assert table.grid.notes[2:] == [
        "No interval (one query): x of a; y of a.",
        "No interval (no query): x of b.",
        "No number (nothing has a value): x of b.",
        "No number (not in the summary): y of b.",
        "Failed: 2 of c.",
    ]


@pytest.mark.parametrize(
    ("given", "notes"),
    [
        ({}, []),
        ({"reason": "few samples", "few_queries": True}, ["a: few samples."]),
        ({"reason": "one query", "few_queries": True, "n": 1}, ["a: one query."]),
        ({"reason": "no difference", "no_spread": True, "many_ties": True}, ["a: no difference."]),
        ({"few_queries": True, "many_ties": True}, ["a: few pairs.", "b: many ties."]),
        (
            {"reason": "all differences are equal", "no_spread": True, "few_queries": True, "n_unpaired": 2},
            ["a: all differences are equal.", "b: few pairs.", "c: 2 left out, without a value in one of the runs."],
        ),
    ],
)
def test_every_doubt_about_a_row_is_a_note(given: dict[str, object], notes: list[str]) -> None:
    grid = rf.tables.comparisons(compared([("b", "a", 0.1, True)], "map", **given)).grid
    assert list(grid.notes[2:]) == notes
    assert grid.rows[0][-1].raised == ",".join(note[0] for note in notes)


def test_a_comparison_without_correction_or_with_several_counts() -> None:
    rows = [compared([("b", "a", 0.1, True)], correction=None), compared([("c", "a", 0.1, True)], n=7, correction=None)]
    grid = rf.tables.comparisons(pl.concat(rows)).grid
    assert grid.caption == "Comparison"
    headings = [column.heading for column in grid.columns]
    assert headings == ["metric", "run", "other", "difference", "relative", "W/T/L", "n", "effect size", "p"]


def test_a_row_without_numbers_is_shown() -> None:
    nothing = dict.fromkeys(["difference", "ci_low", "ci_high", "relative", "effect_size", "p", "p_corrected"])
    rows = compared(
        [("b", "a", 0.1, False)], "map", **nothing, n=0, wins=0, ties=0, losses=0, reason="no query in common"
    )
    cells = rf.tables.comparisons(rows).grid.rows[0]
    assert [cell.text for cell in cells[3:]] == ["-", "-", "0/0/0", "-", "-", "-"]


def test_frames_without_rows_are_tables_without_rows() -> None:
    empty = rf.tables.summary(pl.DataFrame(schema=SUMMARY))
    assert empty.markdown() == "Summary\n\n| run |\n| :--- |\n"
    assert empty.frame.is_empty()
    assert rf.tables.comparisons(PAIRS.clear()).markdown().count("\n") == 4


def test_the_callers_frames_stay_as_they_are() -> None:
    values, pairs = VALUES.clone(), PAIRS.clone()
    rf.tables.summary(values, comparison=pairs)
    rf.tables.comparisons(pairs)
    assert_frame_equal(values, VALUES)
    assert_frame_equal(pairs, PAIRS)


def test_a_comparison_table_keeps_the_frame_it_shows() -> None:
    frame = rf.tables.comparisons(PAIRS).frame
    assert_frame_equal(frame, PAIRS.select(frame.columns))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: rf.tables.summary(VALUES.drop("n", "value")),
            r"tables\.summary takes the frame of report\.summary; this one lacks the columns 'value', 'n'",
        ),
        (
            lambda: rf.tables.summary(PAIRS),
            r"tables\.summary takes the frame of report\.summary; this one lacks the columns 'aggregate',",
        ),
        (
            lambda: rf.tables.summary({"a": 1}),  # type: ignore[arg-type]
            r"tables\.summary takes the frame of report\.summary, got dict",
        ),
        (
            lambda: rf.tables.summary(VALUES.with_columns(value=pl.lit("high"))),
            r"tables\.summary takes the frame of report\.summary; this one has other types \(.*high",
        ),
        (
            lambda: rf.tables.summary(pl.concat([VALUES, VALUES])),
            r"run_id, metric, aggregate are to be there once, and 'bm25', 'map', 'mean' are there 2 times; filter",
        ),
        (
            lambda: rf.tables.summary(VALUES.with_columns(run_id=pl.lit(None))),
            r"tables\.summary: run_id is null in row 0",
        ),
        (
            lambda: rf.tables.summary(VALUES, metrics="mapp"),
            r"metrics=: no metric 'mapp' in this summary: did you mean 'map'\? Valid: map, num_ret",
        ),
        (lambda: rf.tables.summary(VALUES, metrics=[]), r"metrics= is empty"),
        (lambda: rf.tables.summary(VALUES, lower_is_better="x"), r"lower_is_better=: no metric 'x' in this summary"),
        (lambda: rf.tables.summary(VALUES, digits=-1), r"digits is a whole number of at least 0, got -1"),
        (
            lambda: rf.tables.summary(VALUES, comparison=VALUES),
            r"comparison= takes the frame of rankframe\.compare\(report\); this one lacks the columns 'other'",
        ),
        (
            lambda: rf.tables.summary(VALUES, comparison=compared([("x", "y", 0.1, True)])),
            r"no pair of runs and metric in common: it compares 'x', 'y' by 'map'; give the comparison of the same",
        ),
        (
            lambda: rf.tables.comparisons(VALUES),
            r"tables\.comparisons takes the frame of rankframe\.compare\(report\); this one lacks the columns 'other'",
        ),
        (lambda: rf.tables.comparisons(PAIRS, digits=True), r"digits is a whole number"),
        (lambda: rf.tables.comparisons(pl.concat([PAIRS, PAIRS])), r"metric, run_id, other are to be there once"),
    ],
)
def test_what_is_no_such_frame_is_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(DataError, match=message):
        call()


@pytest.mark.parametrize("suffix", ["md", "tex", "TEX"])
def test_a_table_is_saved_as_its_suffix_says(tmp_path: Path, suffix: str) -> None:
    table = rf.tables.summary(VALUES)
    table.save(tmp_path / f"table.{suffix}")
    written = (tmp_path / f"table.{suffix}").read_text(encoding="utf-8")
    assert written == (table.markdown() if suffix == "md" else table.latex())


def test_other_suffixes_and_places_are_refused(tmp_path: Path) -> None:
    table = rf.tables.summary(VALUES)
    with pytest.raises(
        DataError, match=r"a table is written to a file that ends with \.html, \.tex, \.md, not '\.pdf'"
    ):
        table.save(tmp_path / "table.pdf")
    with pytest.raises(DataError, match=r"table\.md: the table cannot be written there \(No such file or directory\)"):
        table.save(tmp_path / "nowhere" / "table.md")


def _hostile(names: list[str]) -> list[rf.tables.Table]:
    """A summary and a comparison of runs with these names, which are metrics too."""
    values = summary_of({run: dict.fromkeys(names, i * 0.1) for i, run in enumerate(names)})
    pairs = pl.concat([compared([(names[0], run, 0.1, True) for run in names[1:]], metric=metric) for metric in names])
    return [
        rf.tables.summary(values, comparison=pairs, caption=names[0]),
        rf.tables.comparisons(pairs.with_columns(reason=pl.lit(names[0])), caption=names[0]),
    ]


@given(st.lists(NAMES, min_size=2, max_size=4, unique=True))
def test_no_name_breaks_a_row_of_markdown(names: list[str]) -> None:
    for table in _hostile(names):
        rows = [line for line in re.split("\n", table.markdown()) if line.startswith("|")]
        assert {len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows} == {len(table.grid.columns) + 1}
        assert len(rows) == len(table.grid.rows) + 2
        assert "<" not in re.sub("</?sup>", "", table.markdown())


@given(st.lists(NAMES, min_size=2, max_size=4, unique=True))
def test_no_name_is_a_command_of_latex(names: list[str]) -> None:
    commands = {
        "\\begin",
        "\\end",
        "\\toprule",
        "\\midrule",
        "\\bottomrule",
        "\\centering",
        "\\caption",
        "\\usepackage",
    }
    commands |= {"\\textbf", "\\textsuperscript", "\\scriptsize", "\\footnotesize", "\\par"}
    commands |= {f"\\text{name}" for name in ("backslash", "asciicircum", "asciitilde", "asciigrave", "bar")}
    commands |= {"\\textless", "\\textgreater"}
    for table in _hostile(names):
        lines = table.latex().split("\n")[1:]  # the first is a comment
        bare = re.sub(r"\\[\\#$%&_{}]", "", "\n".join(lines))
        assert set(re.findall(r"\\[A-Za-z]*", bare)) <= commands
        assert not re.search("[#%_~^]", bare)
        assert bare.replace("$-$", "").count("$") == 0
        rows = [line for line in lines if line.endswith(" \\\\")]
        assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(table.grid.columns) - 1}
        depth = 0
        for sign in bare:
            depth += (sign == "{") - (sign == "}")
            assert depth >= 0
        assert depth == 0


def test_hostile_names_are_written_as_they_are() -> None:
    values = summary_of({name: {"map": 0.1} for name in HOSTILE})
    table = rf.tables.summary(values, intervals=False)
    assert [line.partition(" | **0.")[0] for line in table.markdown().splitlines()[4 : 4 + len(HOSTILE)]] == [
        "| a\\_b",
        "| 50%",
        "| &lt;b&gt;x&lt;/b&gt;",
        "| a\\|b",
        "| \\$x\\$",
        "| two lines",
        "| \\\\end\\{table\\}",
        "| a&amp;b",
        "| \\#1",
        "| \\[x\\](y)",
        "| \\*x\\*",
        "| \\`x\\`",
        "| \\\\",
    ]
    assert [line.partition(" & ")[0] for line in table.latex().splitlines() if "0.1000" in line] == [
        "a\\_b",
        "50\\%",
        "\\textless{}b\\textgreater{}x\\textless{}/b\\textgreater{}",
        "a\\textbar{}b",
        "\\$x\\$",
        "two lines",
        "\\textbackslash{}end\\{table\\}",
        "a\\&b",
        "\\#1",
        "{[}x](y)",
        "{*}x{*}",
        "\\textasciigrave{}x\\textasciigrave{}",
        "\\textbackslash{}",
    ]


def test_dashes_of_a_name_stay_single_in_latex() -> None:
    assert "a-{}-{}-b & 0.1000" in rf.tables.summary(summary_of({"a---b": {"map": 0.1}}), intervals=False).latex()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_compiles(tmp_path: Path) -> None:
    tables = [*_hostile(list(HOSTILE)), rf.tables.summary(pl.DataFrame(schema=SUMMARY))]
    body = "\n".join(table.latex(label=f"tab:{i}") for i, table in enumerate(tables))
    document = f"\\documentclass{{article}}\n\\usepackage{{booktabs}}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    (tmp_path / "paper.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-draftmode", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_without_great_tables_a_notebook_shows_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "great_tables", None)
    table = rf.tables.summary(VALUES)
    assert table._repr_html_() is None
    with pytest.raises(rf.ExtraError, match=r"HTML tables need great-tables: pip install 'rankframe\[tables\]'"):
        table.html()
    with pytest.raises(rf.ExtraError, match=r"rankframe\[tables\]"):
        table.save(tmp_path / "table.html")
    assert not (tmp_path / "table.html").exists()
