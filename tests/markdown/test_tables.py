"""Tables from HTML, pipes and LaTeX; broken ones keep every cell (cases FL-25 to FL-30)."""

import lxml.html
import pytest

from fastocr_cli.markdown import clean_page, ragged_tables


def table(*rows: str) -> str:
    """`td` cells from rows written `a|b`."""
    return (
        "<table>"
        + "".join("<tr>" + "".join(f"<td>{c}</td>" for c in r.split("|")) + "</tr>" for r in rows)
        + "</table>"
    )


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("<table><tr><td>1", table("1")),
        ("<table><tr><td>a<td>b<tr><td>c<td>d</table>", table("a|b", "c|d")),
        ("<table border=1>\n<tbody>\n<tr>\n<td style='x'>a</td>\n</tr>\n</tbody>\n</table>", table("a")),
        ("<TABLE><TR><TD>a</TD></TR></TABLE>", table("a")),
        ("<tr><td>a</td><td>b</td></tr>\n</table>", table("a|b")),
        (
            "<table><tr><td>a</td></tr>\n\nText\n\n<table><tr><td>b</td></tr></table>",
            table("a") + "\n\nText\n\n" + table("b"),
        ),
        ("<table><tr><td>a\n\nText goes on\n\n# Head", table("a") + "\n\nText goes on\n\n# Head"),
        ("<table><tr><td>a</td>\n\nText goes on", table("a") + "\n\nText goes on"),
        ("<table><caption>Cap</caption><tr><td>a</td></tr></table>", "Cap\n\n" + table("a")),
        ("<table></table>", ""),
        ("<table><tr></tr><tr><td>a</td></tr></table>", table("a")),
        ("before <table><tr><td>a</td></tr></table> after", "before\n\n" + table("a") + "\n\nafter"),
        ("<table><tr><td><p>a</p><p>b</p></td></tr></table>", table("a<br>b")),
        ("<table><tr><td>a\n\n\nb</td></tr></table>", table("a<br>b")),
        ("<table><tr><td><ul><li>a</li><li>b</li></ul></td></tr></table>", table("- a<br>- b")),
        ("<table><tr><td>\\(x^2\\)</td></tr></table>", table("$x^2$")),
        ("<table><tr><td><b>a<i>b</b></td></tr></table>", table("<b>a&lt;i&gt;b</b>")),
        ("the <table> and the <td> element", "the &lt;table> and the &lt;td> element"),
        ("`<table><tr><td>`", "`<table><tr><td>`"),
    ],
)
def test_html(raw: str, clean: str) -> None:
    assert clean_page(raw) == clean


def test_spans() -> None:
    raw = (
        '<table><tr><th rowspan="2">A</th><th colspan=2>B</th><th rowspan="1">C</th></tr>'
        "<tr><td>1</td><td rowspan=9>2</td><td>3</td></tr></table>"
    )
    assert clean_page(raw) == (
        '<table><tr><th rowspan="2">A</th><th colspan="2">B</th><th>C</th></tr>'
        "<tr><td>1</td><td>2</td><td>3</td></tr></table>"
    )
    assert ragged_tables(clean_page(raw)) == []


def test_nested_table_stays_nested_and_comes_once() -> None:
    raw = "<table><tr><td>a</td><td><table><tr><td>in</td></tr></table></td></tr></table>"
    assert clean_page(raw) == raw
    assert clean_page(raw, "markdown") == raw


CELLS = ["a|b", "P(A|B)", "x < 5 && y > 3", "<none>", "R&D", "&amp;", "C:\\temp", "**not bold**"]


def test_printed_signs_in_cells_come_back_from_a_parser() -> None:
    cleaned = clean_page("<table><tr>" + "".join(f"<td>{cell}</td>" for cell in CELLS) + "</tr></table>")
    assert [cell.text_content() for cell in lxml.html.fromstring(cleaned).iter("td")] == CELLS


def test_entities_of_a_model_that_escapes_are_left() -> None:
    raw = table("x &lt; 5|R&amp;D|&amp;amp;|&lt;none&gt;|AT&T")
    assert clean_page(raw) == raw.replace("AT&T", "AT&amp;T")


@pytest.mark.parametrize(
    ("raw", "html", "pipes"),
    [
        (
            "| a | b |\n|---|:-:|\n| $5 | a\\|b |\n| **x** | $x^2$ |\ntext",
            "<table><tr><th>a</th><th>b</th></tr><tr><td>$5</td><td>a|b</td></tr><tr><td><b>x</b></td><td>$x^2$</td></tr></table>\n\ntext",
            "| a | b |\n| --- | --- |\n| \\$5 | a\\|b |\n| **x** | $x^2$ |\n\ntext",
        ),
        (
            "| a |\n|---|\n| b | too many |",
            "<table><tr><th>a</th></tr><tr><td>b</td><td>too many</td></tr></table>",
            "| a |  |\n| --- | --- |\n| b | too many |",
        ),
        ("a | b", "a | b", "a | b"),
        (
            "<table><tr><td>a|b</td><td>$|x|$</td></tr><tr><td>x &lt; 5<br>*y*</td><td>$5</td></tr></table>",
            "<table><tr><td>a|b</td><td>$|x|$</td></tr><tr><td>x &lt; 5<br>*y*</td><td>$5</td></tr></table>",
            "| a\\|b | $\\vert x\\vert$ |\n| --- | --- |\n| x &lt; 5<br>\\*y\\* | \\$5 |",
        ),
    ],
)
def test_pipes(raw: str, html: str, pipes: str) -> None:
    assert clean_page(raw) == html
    assert clean_page(raw, "markdown") == pipes
    assert clean_page(pipes, "markdown") == pipes


def test_spanning_tables_stay_html() -> None:
    raw = '<table><tr><td colspan="2">a</td></tr><tr><td>b</td><td>c</td></tr></table>'
    assert clean_page(raw, "markdown") == raw


LATEX = r"""
\begin{table}[h]
\centering
\caption{Costs \& more}
\begin{tabular}{@{}l|cc@{}}
\toprule\noalign{}
\multirow{2}{*}{\textbf{Name}} & \multicolumn{2}{c}{Cost (\%)} \\ \cmidrule(lr){2-3}
 & $a_1$ & \makecell{b\\c} \\
\midrule
x~y & {5} & \$6 \\[2pt]
\bottomrule
\end{tabular}
\label{tab:x}
\end{table}
after"""


def test_latex() -> None:
    assert clean_page(LATEX) == (
        'Costs &amp; more\n\n<table><tr><td rowspan="2"><b>Name</b></td><td colspan="2">Cost (%)</td></tr>'
        "<tr><td>$a_1$</td><td>b<br>c</td></tr><tr><td>x y</td><td>5</td><td>$6</td></tr></table>\n\nafter"
    )


def test_latex_that_never_ends() -> None:
    assert clean_page("\\begin{tabular}{cc} a & b \\\\ c & d\n\ntext") == table("a|b", "c|d") + "\n\ntext"


def test_ragged_tables_are_told() -> None:
    good, bad = table("a|b", "c|d"), table("a|b", "c")
    assert ragged_tables(clean_page(f"{good}\n\n{bad}\n\n{good}")) == [2]
    stacked = '<table><tr><td rowspan="2">a</td><td colspan="2">b</td></tr><tr><td>c</td><td>d</td></tr></table>'
    assert ragged_tables(stacked) == []
