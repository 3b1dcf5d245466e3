"""Input files: regular, bounded, text; and read as root with the rights of those whose links lead to them."""

import contextlib
import itertools
import os
import socket
from pathlib import Path

import pytest
from support.fixtures.foreign_folders import AS_ROOT, NOBODY, exchanging, give

from topology.errors import ParameterError
from topology.families.graph_file import GraphFile
from topology.files.escaping import escape_ambiguous, escape_controls, quoted
from topology.files.reading import FileError, read_bytes, read_lines, read_text
from topology.files.rights import rights_of
from topology.files.writing import open_folder

OTHER = 1  # user ID of daemon, neither root nor nobody
LIMIT = 100
BOMB = """<?xml version="1.0"?>
<!DOCTYPE graphml [<!ENTITY a "aaaaaaaaaa">{entities}]>
<graphml><graph edgedefault="undirected"><node id="&i;"/></graph></graphml>
"""


def test_text_comes_without_its_mark_and_with_plain_line_ends(tmp_path):
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree")
    assert read_text(tmp_path / "a", LIMIT) == "one\ntwo\nthree"
    assert list(read_lines(tmp_path / "a", LIMIT)) == ["one\n", "two\n", "three"]


@pytest.mark.parametrize("kind", ["FIFO", "socket", "directory", "device"])
def test_only_regular_files_are_read(tmp_path, kind):
    path = tmp_path / "x"
    if kind == "FIFO":
        os.mkfifo(path)  # nobody ever writes into it
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(str(path))
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(FileError, match=rf"x cannot .* got a {kind}"):
        read_bytes(path, LIMIT)


@pytest.mark.skipif(not os.access("/proc/kmsg", os.R_OK), reason="only root reads the kernel's messages")
def test_a_file_that_has_nothing_to_read_yet_is_refused():
    with contextlib.suppress(FileError):  # it may return messages that nobody has read
        read_bytes("/proc/kmsg", 1 << 30)
    with pytest.raises(FileError, match="/proc/kmsg"):
        read_bytes("/proc/kmsg", 1 << 30)


@pytest.mark.parametrize(
    "content", [b"1 2\0\n", b"\xff\xfe1\0", b"1 2\n\xe9\n"], ids=["NUL", "UTF-16", "latin-1"]
)
def test_what_is_no_text_in_utf_8_is_refused(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(FileError, match=r"must be (UTF-8 )?text"):
        read_text(tmp_path / "x", LIMIT)


def test_a_file_that_is_too_long_is_refused(tmp_path):
    (tmp_path / "x").write_bytes(b"x" * LIMIT)
    assert len(read_bytes(tmp_path / "x", LIMIT)) == LIMIT
    (tmp_path / "x").write_bytes(b"x" * (LIMIT + 1))
    for long in (tmp_path / "x", "/proc/self/environ"):
        with pytest.raises(FileError, match="at most"):
            read_bytes(long, LIMIT)


def test_missing_files_and_names_that_cannot_be_are_told(tmp_path):
    with pytest.raises(FileError) as error:
        read_bytes(tmp_path / "x", LIMIT)
    assert error.value.missing
    (tmp_path / "loop").symlink_to("loop")
    for name in (tmp_path / "loop", "a\0b", "x" * 5000, __file__ + "/below"):
        with pytest.raises(FileError) as error:
            read_bytes(name, LIMIT)
        assert not error.value.missing


def test_links_are_followed_as_the_kernel_does(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("content")
    (tmp_path / "link").symlink_to("folder/../folder")
    (tmp_path / "absolute").symlink_to(tmp_path / "link" / "file")
    for path in ("link/file", "absolute", "folder/./file", "link/../folder//file"):
        assert read_text(tmp_path / path, LIMIT) == "content"


@pytest.mark.parametrize("ending", ["graphml", "xml"])
def test_entities_do_not_expand(tmp_path, ending):
    names = "abcdefghi"
    entities = "".join(f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in itertools.pairwise(names))
    path = tmp_path / f"graph.{ending}"
    path.write_text(BOMB.format(entities=entities))
    with pytest.raises(ParameterError, match=r"line 2: .*DOCTYPE"):
        GraphFile(**{"from": str(path)})


def test_a_quote_is_short_and_without_control_characters():
    assert quoted("x" * 1000).startswith("'xxx")
    assert len(quoted("x" * 1000)) < 120
    assert len(quoted([1] * 1000)) < 120
    assert escape_controls("a\x1b[31m\n\x9b\u202e é") == "a\\x1b[31m\\n\\x9b\\u202e é"


# ---- as root ----


@pytest.fixture
def secret(public):
    """Returns a file that only root may read, in a folder that everybody may enter."""
    path = public / "secret"
    path.write_text("secret")
    path.chmod(0o600)
    return path


@pytest.fixture
def in_groups():
    """Puts the process into root's group, as sudo does."""
    before = os.getgroups()
    os.setgroups([0])
    yield
    os.setgroups(before)


def test_a_link_of_another_user_leads_root_where_that_user_may_read(nobodys, secret, in_groups):
    (nobodys / "folder").symlink_to(secret.parent)
    (nobodys / "file").symlink_to(secret)
    (nobodys / "public").symlink_to(__file__ if os.access(__file__, os.R_OK) else "/etc/passwd")
    (nobodys / "group").symlink_to(secret.with_name("group"))
    secret.with_name("group").write_text("secret")
    secret.with_name("group").chmod(0o640)  # of root's group, in which nobody is not
    give(*nobodys.iterdir())
    for name in ("file", "folder/secret", "group"):
        with pytest.raises(FileError, match="Permission denied"):
            read_text(nobodys / name, LIMIT)
    assert read_text(secret, LIMIT) == "secret"
    (nobodys / "own").symlink_to(secret)  # root's own link, in a folder whose owner can move it
    with pytest.raises(FileError, match="Permission denied"):
        read_text(nobodys / "own", LIMIT)


def test_root_reads_what_others_own_and_links_of_its_own(nobodys, secret):
    (nobodys / "file").write_text("theirs")
    (nobodys / "file").chmod(0o600)
    give(nobodys / "file")
    assert read_text(nobodys / "file", LIMIT) == "theirs"
    secret.with_name("link").symlink_to(secret)
    assert read_text(secret.with_name("link"), LIMIT) == "secret"


def test_a_lookup_for_one_user_does_not_continue_with_the_rights_of_another(nobodys, public):
    others = public / "others"
    others.write_text("private")
    others.chmod(0o600)
    (public / "link").symlink_to(others)
    for path in (others, public / "link"):
        os.chown(path, OTHER, OTHER, follow_symlinks=False)
    assert read_text(public / "link", LIMIT) == "private"
    for context in (rights_of(NOBODY.pw_uid), open_folder(nobodys).reading()):
        with context, pytest.raises(FileError, match="symbolic links"):
            read_text(public / "link", LIMIT)
        with open_folder(nobodys).reading(), pytest.raises(FileError, match="Permission denied"):
            read_text(others, LIMIT)


def test_a_file_that_is_exchanged_for_a_link_shows_root_nothing(nobodys, secret):
    (nobodys / "file").write_text("theirs")
    (nobodys / "link").symlink_to(secret)
    give(nobodys / "file", nobodys / "link")
    seen = set()
    with exchanging(nobodys / "file", nobodys / "link") as times:
        for _ in range(2_000):
            try:
                seen.add(read_text(nobodys / "file", LIMIT))
            except FileError:
                seen.add("")
    assert seen == {"theirs", ""}
    assert times[0] > 1_000


@AS_ROOT
def test_rights_are_taken_by_one_thread_and_given_back():
    def identity():
        text = Path("/proc/thread-self/status").read_text()
        lines = dict(line.split(":", 1) for line in text.splitlines())
        return [lines[name].split()[-1:] for name in ("Uid", "Gid", "Groups")]

    before = identity()
    with rights_of(NOBODY.pw_uid):
        assert identity()[:2] == [[str(NOBODY.pw_uid)], [str(NOBODY.pw_gid)]]
        assert os.geteuid() == 0
        with rights_of(1), pytest.raises(ZeroDivisionError), rights_of(NOBODY.pw_uid):
            raise ZeroDivisionError
        assert identity()[0] == [str(NOBODY.pw_uid)]
    assert identity() == before


PLAIN = r"""h1_1 sh -c 'echo "a\b" > $HOME/x' && ls; # a comment"""


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        (PLAIN, PLAIN),
        ("echo a\tb", r"[escaped] 'echo a\tb'"),
        ("echo \\x1b \x1b", r"[escaped] 'echo \\x1b \x1b'"),  # the first are four characters
        ("\u0435cho", r"[escaped] '\u0435cho'"),  # Cyrillic
        ("a\u00a0b\u200b\u3164\u2800", r"[escaped] 'a\xa0b\u200b\u3164\u2800'"),
        ("true" + " " * 5000 + "; id", "[escaped] 'true[5000 blanks]; id'"),
        ("a\u202eb\u2028c\U000e0041", r"[escaped] 'a\u202eb\u2028c\U000e0041'"),
    ],
)
def test_what_is_shown_exactly_hides_nothing(text, exact):
    assert escape_ambiguous(text) == exact
