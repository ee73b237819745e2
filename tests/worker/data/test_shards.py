"""Tar shards are read whole, each by one worker, in an order that the seed decides; damage is named."""

import io
import pickle
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.errors import TraindynoError, UsageError
from traindyno.worker.data.shards import ShardExamples, expand_braces, find_shards, open_shards, read_shard
from worker.data.tiny_sets import jpeg, write_shards, write_tar


def keys(examples: ShardExamples, worker: int = 0, workers: int = 1, seed: int = 0) -> list[str]:
    return [Path(stored.name).stem for stored in examples.stream(worker, workers, seed)]


def test_shards_are_counted_and_their_examples_read(tmp_path: Path) -> None:
    examples = open_shards(str(write_shards(tmp_path, shards=3, examples_each=4)), "infer")
    assert (len(examples), examples.classes, len(examples.paths)) == (12, 5, 3)
    stored = list(examples.stream(0, 1, seed=0))
    assert [one.label for one in stored] == [number % 5 for number in range(12)]
    assert [one.content for one in stored] == [jpeg(number) for number in range(12)]
    assert stored[5].name == f"{tmp_path}/shard-001.tar/000005.jpg"


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_the_workers_together_read_every_example_once(tmp_path: Path, workers: int) -> None:
    examples = open_shards(str(write_shards(tmp_path, shards=5, examples_each=3)), "train")
    read = [key for worker in range(workers) for key in keys(examples, worker, workers, seed=worker)]
    assert sorted(read) == [f"{number:06d}" for number in range(15)]


def test_training_shuffles_by_seed_and_inference_keeps_the_order(tmp_path: Path) -> None:
    folder = str(write_shards(tmp_path, shards=4, examples_each=6))
    train, infer = open_shards(folder, "train"), open_shards(folder, "infer")
    assert keys(train, seed=1) == keys(train, seed=1)
    assert keys(train, seed=1) != keys(train, seed=2)
    assert keys(train, seed=1) != sorted(keys(train, seed=1))
    assert keys(infer, seed=1) == sorted(keys(infer, seed=1))


def test_a_small_buffer_loses_nothing_and_mixes_only_what_it_holds(tmp_path: Path) -> None:
    examples = open_shards(str(write_shards(tmp_path, shards=1, examples_each=30)), "train")
    examples.buffer_examples = 4
    read = [int(key) for key in keys(examples, seed=3)]
    assert sorted(read) == list(range(30))
    assert read != sorted(read)
    assert all(number <= place + 4 for place, number in enumerate(read))


def test_more_workers_than_shards_are_refused_with_the_way_out(tmp_path: Path) -> None:
    examples = open_shards(str(write_shards(tmp_path, shards=2, examples_each=2)), "train")
    examples.check_workers(2)
    with pytest.raises(UsageError, match="3 loader workers cannot share 2 shards") as raised:
        examples.check_workers(3)
    assert "at most 2 workers" in str(raised.value.hint)
    with pytest.raises(UsageError, match="3 loader workers"):
        next(examples.stream(2, 3, seed=0))


@pytest.mark.parametrize(
    "pattern", ["", "*.tar", "shard-{000..002}.tar", "shard-00{0..2}.tar", "shard-{000,001,002}.tar"]
)
def test_shards_are_named_by_folder_pattern_or_range(tmp_path: Path, pattern: str) -> None:
    write_shards(tmp_path, shards=3, examples_each=1)
    assert [Path(path).name for path in find_shards(f"{tmp_path}/{pattern}")] == [f"shard-00{n}.tar" for n in range(3)]


def test_one_shard_is_named_by_its_file_whatever_its_name(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "odd{1..2}[x].tar", {})
    assert find_shards(str(path)) == [str(path)]


@given(first=st.integers(0, 300), last=st.integers(0, 300), width=st.integers(0, 6))
def test_a_range_has_its_ends_and_everything_between_padded_alike(first: int, last: int, width: int) -> None:
    expanded = expand_braces(f"s-{{{first:0{width}d}..{last:0{width}d}}}.tar")
    numbers = [int(name[2:-4]) for name in expanded]
    assert (numbers[0], numbers[-1], len(numbers)) == (first, last, abs(last - first) + 1)
    assert sorted(numbers) == list(range(min(first, last), max(first, last) + 1))
    assert all(len(name) >= len(f"s-{first:0{width}d}.tar") for name in expanded) or last < first


@given(st.text(st.characters(exclude_characters="{}")))
def test_text_without_braces_stays_as_it_is(text: str) -> None:
    assert expand_braces(text) == [text]


def test_several_braces_multiply_and_others_are_kept(tmp_path: Path) -> None:
    assert expand_braces("{a,b}/{0..1}") == ["a/0", "a/1", "b/0", "b/1"]
    assert expand_braces("{odd}.tar") == ["{odd}.tar"]


@pytest.mark.parametrize("pattern", ["{0..9999999999999}", "{0..99999}/{0..99999}"])
def test_an_absurd_range_is_refused_before_it_fills_the_memory(pattern: str) -> None:
    with pytest.raises(UsageError, match="more than 1,000,000 shards"):
        expand_braces(pattern)


@pytest.mark.parametrize(
    ("pattern", "missing"),
    [
        ("shard-{000..004}.tar", r"shard-002\.tar \(3 of 5 missing\)"),
        ("other-*.tar", r"other-\*\.tar"),
        ("empty", r"empty/\*\.tar"),
        ("nowhere.tar", r"nowhere\.tar"),
    ],
)
def test_missing_shards_are_named(tmp_path: Path, pattern: str, missing: str) -> None:
    write_shards(tmp_path, shards=2, examples_each=1)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=f"there is no shard .*{missing}"):
        open_shards(f"{tmp_path}/{pattern}", "train")


def test_examples_are_told_apart_by_all_before_the_first_dot(tmp_path: Path) -> None:
    members = {
        "x/one.JPEG": jpeg(1), "x/one.cls": b"3\n", "x/one.json": b"{}",
        "y/one.cls": b"4", "y/one.mask.png": b"", "y/one.png": b"png",
        "._y.jpg": b"", "README": b"",
    }  # fmt: skip
    stored = list(read_shard(str(write_tar(tmp_path / "a.tar", members))))
    assert [(one.label, one.content) for one in stored] == [(3, jpeg(1)), (4, b"png")]


@pytest.mark.parametrize("tar_format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_all_formats_of_tar_are_read_with_long_names_and_fractions_of_seconds(tmp_path: Path, tar_format: int) -> None:
    with tarfile.open(tmp_path / "a.tar", "w", format=tar_format) as archive:
        for kind, content in ((".cls", b"7"), (".jpg", jpeg())):
            member = tarfile.TarInfo("folder" * 10 + "/" + "name" * 20 + kind)
            member.size, member.mtime = len(content), 1.5
            archive.addfile(member, io.BytesIO(content))
    assert [(one.label, one.content) for one in read_shard(str(tmp_path / "a.tar"))] == [(7, jpeg())]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"1.jpg": b"x", "2.jpg": b"x", "2.cls": b"0"}, r"example 1 in .*a\.tar has no label \(\.cls\)"),
        ({"1.cls": b"0"}, r"example 1 in .*a\.tar has no image"),
        ({"1.jpg": b"x", "2.jpg": b"x", "1.cls": b"0", "2.cls": b"0"}, r"example 1 .* has no label"),
        ({"1.jpg": b"x", "1.cls": b"cat"}, r"1\.cls in .*a\.tar is no label: 'cat'"),
        ({"1.jpg": b"x", "1.cls": b"-1"}, r"1\.cls in .*a\.tar is no label: '-1'"),
        ({"1.jpg": b"x", "1.cls": b""}, r"1\.cls in .*a\.tar is no label: ''"),
        ({"1.jpg": b"x", "1.cls": b"9" * 100}, r"1\.cls in .*a\.tar is no label: '\(too long\)'"),
        ({}, r"a\.tar holds no examples"),
        ({"1.txt": b"x"}, r"a\.tar holds no examples"),
    ],
)
def test_what_is_wrong_in_a_shard_is_named_with_shard_and_member(
    tmp_path: Path, members: dict[str, bytes], message: str
) -> None:
    write_tar(tmp_path / "a.tar", members)
    with pytest.raises(TraindynoError, match=message):
        open_shards(str(tmp_path), "train")


def test_a_shard_cut_anywhere_is_never_read_as_if_it_were_whole(tmp_path: Path) -> None:
    write_shards(tmp_path, shards=1, examples_each=3)
    path = tmp_path / "shard-000.tar"
    whole = path.read_bytes()
    end = whole.rstrip(b"\0")
    for length in [*range(1, len(end), 377), *range(512, len(end), 512)]:
        path.write_bytes(whole[:length])
        with pytest.raises(TraindynoError, match=r"shard-000\.tar"):
            open_shards(str(tmp_path), "train")


def test_a_header_damaged_in_the_middle_is_found(tmp_path: Path) -> None:
    write_shards(tmp_path, shards=1, examples_each=3)
    path = tmp_path / "shard-000.tar"
    content = bytearray(path.read_bytes())
    content[content.index(b"000001.jpg")] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(TraindynoError, match=r"shard-000\.tar is not a whole tar archive: .*damaged at byte"):
        open_shards(str(tmp_path), "train")


def test_a_compressed_shard_is_told_to_be_plain(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", {"1.jpg": b"x", "1.cls": b"0"}, "w:gz")
    with pytest.raises(TraindynoError, match="not a whole tar archive") as raised:
        open_shards(str(tmp_path), "train")
    assert "without compression" in str(raised.value.hint)


def test_it_travels_pickled(tmp_path: Path) -> None:
    examples = open_shards(str(write_shards(tmp_path, shards=2, examples_each=3)), "train")
    copy = pickle.loads(pickle.dumps(examples))
    assert keys(copy, seed=5) == keys(examples, seed=5)
