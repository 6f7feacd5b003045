from runner.errors import MESSAGE_LIMIT, InputError
from runner.reasons import REASONS


def test_an_error_has_the_family_and_the_fix_of_its_reason() -> None:
    error = InputError(reason="option_invalid", message="no")

    assert REASONS["option_invalid"].code == error.code
    assert REASONS["option_invalid"].fix == error.hint
    assert "no [option_invalid]" == str(error)


def test_a_message_of_any_length_is_cut() -> None:
    error = InputError(reason="option_invalid", message="x" * 1_000_000)

    assert len(error.message) < MESSAGE_LIMIT + 100
    assert error.message.endswith("… (1000000 characters)")
