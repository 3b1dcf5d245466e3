"""What is told of something that takes long."""

import time

from polarlab.cli import progress


@progress.told_if_long()
def work(seconds):
    time.sleep(seconds)
    return seconds


def test_what_takes_long_says_so_once_and_what_is_quick_says_nothing(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_LONG_S", 0.1)
    assert work(0) == 0
    time.sleep(0.2)
    assert capsys.readouterr().err == ""
    assert work(0.5) == 0.5
    out, err = capsys.readouterr()
    assert err.count("computing") == 1
    assert err.count("\n") == 1
    assert out == ""
