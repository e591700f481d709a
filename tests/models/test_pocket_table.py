"""Tables are well-formed, and cells end where the print says."""

import pytest
from tokenizers import Tokenizer

from fastocr_cli.models.pocket import Model
from fastocr_cli.models.pocket.table import FOLLOWING, NOWHERE, TEXT_AFTER, Table, Tags, is_open

VOCABULARY = {
    text: index
    for index, text in enumerate(
        ["a", "<", "<table><tr><td>", "</td><td>", "</td></tr><tr><td>", "</td></tr></table>", "</td>", "<td>",
         '<td colspan="2">', "</tr>", "<tr>", "</table>", "<|im_end|>"]
    )
}  # fmt: skip
TAGS = Tags(VOCABULARY, len(VOCABULARY))


def fit_after(tag: str) -> set[str]:
    return {text for text, index in VOCABULARY.items() if not TAGS.unfit[tag][index]}


TEXT = {"a", "<", "<|im_end|>"}


@pytest.mark.parametrize(
    ("tag", "fit"),
    [
        ("", TEXT | {"<table><tr><td>"}),
        ("</table", TEXT | {"<table><tr><td>"}),
        ("<td", TEXT | {"</td>", "</td><td>", "</td></tr><tr><td>", "</td></tr></table>"}),
        ("</td", {"<td>", '<td colspan="2">', "</tr>"}),
        ("</tr", {"<tr>", "</table>"}),
        ("<tr", {"<td>", '<td colspan="2">'}),
    ],
)
def test_tags_come_in_order(tag: str, fit: set[str]) -> None:
    assert fit_after(tag) == fit


def test_every_tag_can_be_followed_and_leads_out_of_the_table(pocket: Model) -> None:
    tags = pocket.writable.tags
    reached = {""}
    for _ in FOLLOWING:
        reached |= {tags.last[i] for tag in reached for i in tags.last if not tags.unfit[tag][i]}
    assert reached >= {"<table", "<tr", "<td", "</td", "</tr", "</table"}
    assert all(not unfit.all() for unfit in tags.unfit.values() if unfit is not tags.unfit["<th"])


def test_what_a_token_of_tags_does() -> None:
    assert {text for text, i in VOCABULARY.items() if i in TAGS.rows} == {
        "<table><tr><td>", "</td></tr><tr><td>", "<tr>",
    }  # fmt: skip
    assert {text for text, i in VOCABULARY.items() if TAGS.next_cell[i]} == {"</td>", "</td><td>"}
    assert TAGS.last[VOCABULARY["</td></tr></table>"]] == "</table"
    assert VOCABULARY["<"] not in TAGS.last
    assert [tag for tag in TEXT_AFTER if is_open(tag)] in (["<td", "<th"], ["<th", "<td"])


def test_a_row_begins_without_an_edge_on_its_left() -> None:
    table = Table("<td", last_letter=4, left_edge=3, right_edge=9)
    assert table.after("<td", begins_row=False) == Table("<td", left_edge=9, cell=1)
    assert table.after("<td", begins_row=True) == Table("<td", left_edge=NOWHERE)
    empty = table.after("<td", begins_row=False).after("<td", begins_row=False)
    assert empty.left_edge == 9  # of the last cell that was not empty
    assert not table.after("</table", begins_row=False).is_open


def test_the_vocabulary_may_have_no_tags(pocket: Model) -> None:
    assert isinstance(pocket.tokenizer, Tokenizer)
    tags = Tags({"a": 0, "b": 1}, 2)
    assert tags.last == {}
    assert not tags.unfit[""].any()
