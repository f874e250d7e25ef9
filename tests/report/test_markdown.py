"""The markdown: fits a comment, says what the page says, and keeps its tables whole."""

import dataclasses

from markdown_it import MarkdownIt

from harness.report.pages.rendering import cell_code, code, escaped
from harness.report.pages.report_page import COMMENT_LIMIT, markdown


def rendered(text):
    return MarkdownIt("commonmark").enable("table").render(text)


def test_the_first_line_is_the_gate(model, red):
    assert markdown(model).splitlines()[0] == "## ✓ Torch-TensorRT 2.14.0 in place of 2.13.0: ship"
    assert markdown(red.model()).splitlines()[0] == "## ✗ Red: 1 unexpected failure"


def test_every_answer_is_an_item_above_the_matrix(model):
    text = markdown(model)
    first = text[: text.index("### Subjects")]
    assert first.count("\n- **") == len(model.headline.answers) > 0


def test_every_row_of_a_table_has_the_cells_of_its_header(red):
    html = rendered(markdown(red.model()))
    tables = html.split("<table>")[1:]
    assert len(tables) == 7
    for table in tables:
        rows = table[: table.index("</table>")].split("<tr>")[1:]
        assert len(rows) > 1
        assert len({row.count("<td") + row.count("<th>") + row.count("<th ") for row in rows}) == 1


def test_escaping_takes_the_meaning_from_every_metacharacter():
    assert escaped("a|b *c* `d` <e> [f]\ng_h") == (r"a\|b \*c\* \`d\` &lt;e&gt; \[f\] g\_h")


def test_code_is_fenced_by_more_backticks_than_it_holds():
    assert code("plain") == "`plain`"
    assert code("a `` b") == "``` a `` b ```"
    assert cell_code("a|b") == r"`a\|b`"
    assert code("") == ""


def test_a_long_report_is_cut_until_it_fits_a_comment_and_says_so(red):
    finding = red.findings[0]
    red.findings = [
        dataclasses.replace(finding, case=f"case_{number}", reason="because " * 40)
        for number in range(2000)
    ]
    text = markdown(red.model())
    assert len(text) <= COMMENT_LIMIT
    assert "more in `report.html`" in text
    assert "2,000 findings" in text
