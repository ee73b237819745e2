"""What the header of a JPEG says, read without decoding: can nvJPEG take the file, and how large is the image?"""

from collections.abc import Iterator

START_OF_IMAGE = b"\xff\xd8"
END_OF_IMAGE = b"\xff\xd9"

_START_OF_SCAN = 0xDA
_ADOBE = 0xEE
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xDA)})
_BASELINE, _PROGRESSIVE = 0xC0, 0xC2

# Horizontal and vertical samples of brightness for each one of colour: 4:4:4, 4:2:2, 4:4:0, 4:2:0, 4:1:1, 4:1:0.
_GREY = (0x11,)
_COLOURS = frozenset((luma, 0x11, 0x11) for luma in (0x11, 0x21, 0x12, 0x22, 0x41, 0x42))


def nvjpeg_size(content: bytes) -> tuple[int, int] | None:
    """Height and width of a JPEG that nvJPEG decodes as libjpeg does; nothing for any other bytes.

    Left out are other formats, CMYK, RGB without colour transform, more than 8 bits, arithmetic coding, unusual
    sampling, and files without an end marker, which nvJPEG would fill in silently.
    """
    for marker, start, end in _segments(content):
        if marker == _ADOBE and content[start : start + 5] == b"Adobe" and content[start + 11 : end][:1] == b"\0":
            return None
        if marker in _FRAMES:
            size = _frame_size(marker, content[start:end])
            return size if content.rfind(END_OF_IMAGE, end) >= 0 else None
    return None


def _segments(content: bytes) -> Iterator[tuple[int, int, int]]:
    """The marker of each segment before the first scan, and where its payload starts and ends."""
    position = len(START_OF_IMAGE)
    if not content.startswith(START_OF_IMAGE):
        return
    while position + 4 <= len(content) and content[position] == 0xFF:
        marker = content[position + 1]
        if marker == 0xFF or marker in _WITHOUT_LENGTH:
            position += 1 if marker == 0xFF else 2
            continue
        end = position + 2 + int.from_bytes(content[position + 2 : position + 4], "big")
        if marker == _START_OF_SCAN or end < position + 4 or end > len(content):
            return
        yield marker, position + 4, end
        position = end


def _frame_size(marker: int, frame: bytes) -> tuple[int, int] | None:
    """Height and width, where the frame is of a kind that nvJPEG takes."""
    if marker not in (_BASELINE, _PROGRESSIVE) or len(frame) < 6 or len(frame) != 6 + 3 * frame[5] or frame[0] != 8:
        return None
    names, samples = frame[6::3], tuple(frame[7::3])
    if names == b"RGB" or (samples != _GREY and samples not in _COLOURS):
        return None
    height, width = int.from_bytes(frame[1:3], "big"), int.from_bytes(frame[3:5], "big")
    return (height, width) if height and width else None
