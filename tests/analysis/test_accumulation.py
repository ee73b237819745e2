import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.analysis.accumulation import split_batch


@pytest.mark.parametrize(
    ("wanted", "safe", "micro", "steps"),
    [(1024, 300, 256, 4), (100, 300, 100, 1), (1000, 300, 250, 4), (997, 300, 250, 4), (4096, 1593, 1024, 4)],
)
def test_known_splits(wanted: int, safe: int, micro: int, steps: int) -> None:
    split = split_batch(wanted, safe)
    assert (split.micro_batch, split.accumulation_steps) == (micro, steps)


def test_the_sentence_says_whether_it_comes_out_even() -> None:
    assert split_batch(1024, 300).sentence(1024) == (
        "Micro-batch 256 × 4 accumulation steps make an effective batch of 1024."
    )
    assert "make 1000, slightly more than 997" in split_batch(997, 300).sentence(997)
    assert split_batch(100, 300).sentence(100) == "An effective batch of 100 fits as it is."


@given(st.integers(1, 10**5), st.integers(1, 10**4))
def test_micro_batches_fit_and_make_at_least_what_was_asked(wanted: int, safe: int) -> None:
    split = split_batch(wanted, safe)
    assert 1 <= split.micro_batch <= safe
    assert wanted <= split.effective_batch < wanted + split.accumulation_steps
