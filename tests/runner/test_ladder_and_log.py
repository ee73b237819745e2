import signal
from pathlib import Path

from traindyno.runner.ladder import KillLadder
from traindyno.runner.trial_log import HEAD_BYTES, TAIL_BYTES, TrialLog


def test_the_ladder_dumps_the_stack_asks_and_then_kills() -> None:
    now, sent = [0.0], []
    ladder = KillLadder(sent.append, lambda: now[0])
    ladder.climb()
    assert sent == []
    ladder.begin(dump_stack=True, gently=True)
    for moment in (0.0, 0.1, 0.31, 0.5, 0.81, 5.0):
        now[0] = moment
        ladder.climb()
    assert sent == [signal.SIGUSR1, signal.SIGTERM, signal.SIGKILL]


def test_a_process_that_eats_memory_is_not_asked() -> None:
    sent: list[int] = []
    ladder = KillLadder(sent.append, lambda: 0.0)
    ladder.begin(dump_stack=False, gently=False)
    ladder.climb()
    assert sent == [signal.SIGKILL]


def test_force_is_in_vain_when_the_process_is_still_there_long_after_it() -> None:
    now = [0.0]
    ladder = KillLadder(lambda _: None, lambda: now[0])
    ladder.begin(dump_stack=False, gently=True)
    for moment, in_vain in ((0.0, False), (0.6, False), (5.0, False), (5.7, True)):
        now[0] = moment
        ladder.climb()
        assert ladder.in_vain is in_vain


def test_a_short_log_is_kept_whole(tmp_path: Path) -> None:
    log = TrialLog(tmp_path / "a" / "trial.log")
    log.append(b"one\n")
    log.append(b"two\n")
    log.close()
    assert (tmp_path / "a" / "trial.log").read_text() == "one\ntwo\n"
    assert log.tail == "one\ntwo\n"


def test_nothing_printed_leaves_no_file(tmp_path: Path) -> None:
    log = TrialLog(tmp_path / "trial.log")
    log.close()
    assert list(tmp_path.iterdir()) == []


def test_a_long_log_keeps_its_beginning_and_its_end_and_says_what_is_missing(tmp_path: Path) -> None:
    log = TrialLog(tmp_path / "trial.log")
    log.append(b"first line\n")
    chunk = b"x" * 65536
    for _ in range((HEAD_BYTES + 4 * TAIL_BYTES) // len(chunk)):
        log.append(chunk)
    log.append(b"\nlast line\n")
    log.close()
    content = (tmp_path / "trial.log").read_bytes()
    assert content.startswith(b"first line\n")
    assert content.endswith(b"\nlast line\n")
    assert b"bytes left out" in content
    assert len(content) < HEAD_BYTES + 2 * TAIL_BYTES


def test_a_log_just_over_the_limit_has_no_byte_twice(tmp_path: Path) -> None:
    log = TrialLog(tmp_path / "trial.log")
    everything = bytes(range(256)) * ((HEAD_BYTES + 1024) // 256)
    for start in range(0, len(everything), 65536):
        log.append(everything[start : start + 65536])
    log.close()
    assert (tmp_path / "trial.log").read_bytes() == everything
