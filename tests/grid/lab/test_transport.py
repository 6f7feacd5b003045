from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from grid.lab.transport import (
    CLSE,
    CNXN,
    MAX_PAYLOAD,
    OKAY,
    OPEN,
    WRTE,
    Packet,
    PacketDecoder,
    encode_packet,
)
from runner.errors import InputError

PACKETS = st.builds(
    Packet,
    st.sampled_from([CNXN, OPEN, OKAY, WRTE, CLSE]),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.binary(max_size=200),
)


def test_a_packet_has_the_bytes_of_the_protocol() -> None:
    data = encode_packet(Packet(OKAY, 1, 2, b"x"))

    assert data == (
        b"OKAY" + b"\1\0\0\0" + b"\2\0\0\0" + b"\1\0\0\0" + b"\0\0\0\0" + b"\xb0\xb4\xbe\xa6" + b"x"
    )


@pytest.mark.slow
@given(st.lists(PACKETS, max_size=8), st.integers(1, 50))
def test_packets_survive_any_cut_of_the_stream(packets: list[Packet], size: int) -> None:
    data = b"".join(map(encode_packet, packets))
    decoder = PacketDecoder()

    found = [
        packet
        for start in range(0, len(data), size)
        for packet in decoder.feed(data[start : start + size])
    ]

    assert found == packets


@given(st.binary(max_size=300))
def test_any_bytes_are_packets_or_the_typed_error(data: bytes) -> None:
    with suppress(InputError):
        list(PacketDecoder().feed(data))


@given(PACKETS, st.integers(0, 23), st.integers(1, 255))
def test_a_damaged_header_is_refused_or_another_packet(packet: Packet, at: int, flip: int) -> None:
    data = bytearray(encode_packet(packet))
    data[at] ^= flip
    try:
        found = list(PacketDecoder().feed(bytes(data)))
    except InputError:
        return
    assert found != [packet] or 16 <= at < 20  # The checksum is not looked at.


def test_an_oversized_packet_is_refused_before_it_is_read() -> None:
    head = bytearray(encode_packet(Packet(WRTE, 1, 1)))
    head[12:16] = (MAX_PAYLOAD + 1).to_bytes(4, "little")

    with pytest.raises(InputError, match="over the limit") as caught:
        list(PacketDecoder().feed(bytes(head)))

    assert caught.value.reason == "lab_frame_invalid"
