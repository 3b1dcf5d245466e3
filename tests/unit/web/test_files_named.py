"""Values of the page's requests that name files, by the declarations of their options."""

import pytest

from experiments.spec.options import RUN, option_of, options_of
from polarlab.web.actions import actions
from traffic.workload.patterns import PATTERNS


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("matrix:/etc/shadow", "/etc/shadow"),
        ("matrix:file=/etc/shadow", "/etc/shadow"),
        ("matrix:a,b:c=d", "a,b:c=d"),
        *((text, "") for text in ("matrix", "uniform", "hotspot:hosts=2", "allreduce:ring", "x:y", "")),
    ],
)
def test_a_pattern_names_the_file_that_it_reads(text, file):
    assert option_of("pattern", RUN).file_named(text) == file


def test_every_pattern_that_declares_a_file_is_known_by_it():
    reading = [name for name, one in PATTERNS.items() if any(parameter.file for parameter in one.parameters)]
    assert reading
    for name in reading:
        assert option_of("pattern", RUN).file_named(f"{name}:/etc/shadow")


def test_every_option_that_is_a_file_is_known_by_its_declaration():
    fields = {name for action in actions().values() for name in action.request.__struct_fields__}
    options = {option.key: option for option in options_of(RUN)}
    assert {"pattern", "load", "seed", "message_bytes", "ranks"} <= fields & set(options)
    for name in ("flow_file", "exec_file", "faults", "out"):
        assert options[name].file_named("/etc/shadow") == "/etc/shadow"
    assert options["flow_sizes"].file_named("web-search") == ""
    assert options["load"].file_named(0.3) == ""
