"""A claim may write in digits what its source wrote in words."""

from __future__ import annotations

import pytest

from tongyao.protocol.guards.support import doubt, spelled_numbers


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Two hundred and twelve suits hang there.", "212"),
        ("forty-six feet of glass", "46"),
        ("three thousand one hundred francs", "3100"),
        ("a dozen chairs", "12"),
        ("twenty", "20"),
        ("二百一十二套衣服", "212"),
        ("两千零五十袋", "2050"),
        ("一万二千人", "12000"),
        ("二〇二六年", "2026"),
        ("十五天", "15"),
    ],
)
def test_a_number_in_words_is_read(text: str, number: str) -> None:
    assert number in spelled_numbers(text)


def test_a_number_that_the_source_writes_otherwise_is_no_reason_to_doubt() -> None:
    source = "Two hundred and twelve uncollected suits and frocks hang at the back of the shop."
    assert doubt("P02 has 212 uncollected suits and frocks.", [source]) == ""
    assert "213" in doubt("P02 has 213 uncollected suits and frocks.", [source])
    assert doubt("The repair costs 2,800 pounds.", ["The repair costs 2800 pounds."]) == ""


def test_of_a_date_only_the_day_is_compared() -> None:
    source = "The ice goes in on Monday the 20th of September."
    for told in ("20 September 2027", "September 20, 2027", "the 20th (2027-09-20)"):
        assert doubt(f"The ice goes in on {told}.", [source]) == ""
    assert "21" in doubt("The ice goes in on 2027-09-21.", [source])
