from tests.bench.table import Bar, Row, render_number, render_ratio, render_table, render_verdict

FAST = Row(what="call", value=0.5, unit="ms", tail=2.25, bar=Bar(1), note="one device")
SLOW = Row(what="calls", value=1234, unit="/s", bar=Bar(2000, ">="), beside="0.50 x ours")
PLAIN = Row(what="start", value=41.2, unit="ms", tail=40, tail_name="min")


def test_a_bar_is_met_on_its_own_side_and_at_its_limit() -> None:
    assert [True, True, False] == [Bar(5).is_met(value) for value in (4.9, 5, 5.1)]
    assert [False, True, True] == [Bar(5, ">=").is_met(value) for value in (4.9, 5, 5.1)]


def test_numbers_keep_three_digits_and_never_more() -> None:
    shown = [render_number(value) for value in (0.1234, 9.876, 12.34, 123.4, 1234, 98_765)]

    assert ["0.12", "9.88", "12.3", "123", "1,230", "98,800"] == shown


def test_a_ratio_names_whose_figure_it_is_a_multiple_of() -> None:
    assert "2.50 x ours" == render_ratio(5, 2, "ours")
    assert "" == render_ratio(5, 0, "ours")


def test_the_table_lines_up_and_its_notes_stand_below() -> None:
    lines = render_table([FAST, SLOW, PLAIN]).splitlines()

    assert "call [1]   0.50 ms  p99 2.25  <= 1 ms      yes" == lines[2]
    assert "calls     1,230 /s            >= 2,000 /s  NO   0.50 x ours" == lines[3]
    assert "start      41.2 ms  min 40.0" == lines[4]
    assert "[1] one device" == lines[5]


def test_the_verdict_counts_only_rows_with_a_bar() -> None:
    assert "1 of 2 bars are met; missed: calls" == render_verdict([FAST, SLOW, PLAIN])
    assert "1 of 1 bars are met" == render_verdict([FAST, PLAIN])
