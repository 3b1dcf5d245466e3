"""Wrong use of commands that would run traffic or faults: refused before anything is launched."""

import shlex

import pytest
from support.fixtures.command_line import fails

from topology.errors import Status


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--pattern allreduce:star", "rabenseifner, tree, got 'star'"),
        ("--pattern allreduce --ranks 1", "2 to 7 on this fabric, got 1"),
        ("--pattern allreduce --ranks 8", "2 to 7 on this fabric, got 8"),
        ("--pattern allreduce --load 0.5", "--load"),
        ("--pattern allreduce --link-rate auto", "--link-rate auto"),
        ("--pattern allreduce --message-bytes 10", "multiple of 4 bytes, got 10"),
        ("--pattern allreduce --message-bytes 1XB", "like 4096, 64KiB or 1MB, got '1XB'"),
        ("--pattern allreduce --message-bytes 512MiB", "2048 MiB"),
        ("--pattern allreduce --placement best", "linear, random, cluster, got 'best'"),
        ("--pattern all-to-all --slices 2", "slices must be 1, got 2"),
        ("--pattern tornado --ranks 4", "--ranks is for collectives"),
        ("--mtu 100", "576 to 9216 bytes, got 100"),
        ("--faults /nowhere", "/nowhere"),
        ("--exec 'h8_1 true'", "got 'h8_1 true'"),
        ("--exec h1_1", "`h1_1 hostname`, got 'h1_1'"),
        ('--exec "h1_1 \'unclosed"', "got `h1_1 'unclosed`: unexpected EOF"),
        ("--exec 'h1_1 true | | false'", "syntax error near"),
        ("--exec 'h1_1 nc -l 1 &'", "got only servers"),
        ("--exec-file /nowhere", "/nowhere"),
        ("--exec-timeout 5", "--exec-timeout needs --exec or --exec-file"),
        ("--exec 'h1_1 true' --exec-timeout 0", "exec-timeout must be 0.1 to 86400 s, got 0"),
        ("--exec 'h1_1 true' --duration 5", "--duration"),
        ("--exec 'h1_1 true' --link-rate auto", "not for a run that has only programs"),
        ("--exec 'h1_1 true' --ranks 5", "--ranks is for collectives"),
        ("--pcap h1_1,s3-eth9", "port of s3"),
        ("--pcap link:s1-s99", "s99"),
        (
            "--web=0.0.0.0:0 --web-open",
            "got 0.0.0.0",
        ),
        ("--web-open", "give --web"),
        ("--faults mtbf:links=30s", "mttr"),
        ("--faults mtbf:links=30,mttr=1s", "links"),
        ("--faults mtbf:links=1ms,mttr=1s --duration 100", "at most 10000"),
        ("--faults mtbf:links=1s,mttr=1s --repeat 2", "--repeat and --faults"),
        ("--faults mtbf:links=1s,mttr=1s --seed -1", "seed must be"),
        ("--faults mtbf:links=1s,mttr=1s --warmup steady", "--warmup in seconds"),
        ("--faults mtbf:links=1s,mttr=1s --pattern allreduce", "FILE"),
    ],
)
def test_options_of_a_run(capsys, words, named):
    assert named in fails(capsys, shlex.split(f"run polarfly --q 2 {words}"), Status.USAGE)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("demo failover polarfly --q 3 --fail link:s1-s1", "link:s1-s1"),
        ("demo failover --fail controller", "--kill-controller"),
        ("demo failover --link-rate auto", "--link-rate auto"),
        ("demo failover --link-loss 0.1", "--link-loss"),
        ("demo failover polarfly --q 3 --wait", "give --web"),
        ("demo outage", "'outage'"),
        ("rules polarfly --q 3 s99", "'s99'"),
        ("up polarfly --q 2 --link-rate auto", "--link-rate auto"),
        ("up polarfly --q 2 --pcap h1_1", "give --out"),
        ("up polarfly --q 2 --out /tmp/none --pcap s3-eth9", "port of s3"),
    ],
)
def test_failures_switches_and_calibration_that_cannot_be(capsys, words, named):
    assert named in fails(capsys, words, Status.USAGE)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--flow-sizes web", "got 'web'"),
        ("--flow-sizes fixed:0", "fixed:100KB, got '0'"),
        ("--flow-file /nowhere", "/nowhere"),
        ("--flow-sizes web-search --flow-file FILE", "--flow-sizes and --flow-file"),
        ("--pattern tornado --flow-file FILE", "--pattern"),
        ("--flow-sizes web-search --flows 64", "--flows"),
        ("--flow-file FILE --flows 8", "--flows"),
        ("--flow-sizes web-search --load 2", "got 2"),
        ("--flow-sizes web-search --pattern allreduce", "got allreduce"),
        ("--flow-sizes web-search --arrivals constant", "--arrivals"),
        ("--flow-sizes web-search --warmup steady", "--warmup steady"),
        ("--flow-sizes web-search --link-rate auto", "--link-rate auto"),
        ("--flow-sizes web-search --tcp carrier-pigeon", "on this kernel, got 'carrier-pigeon'"),
        ("--flow-sizes web-search --drain -1", "3600 s, got -1"),
        ("--flow-sizes fixed:1 --load 1 --link-rate 100Mbit", "200,000"),
        ("--flow-sizes data-mining --duration 0.1 --warmup 0 --load 0.001", "got none in 0.1 s"),
        ("--tcp cubic", "--flow-sizes or --flow-file"),
        ("--flow-size-limit 5", "--flow-size-limit"),
    ],
)
def test_options_of_flows(capsys, words, named):
    assert named in fails(capsys, f"run polarfly --q 2 {words}", Status.USAGE)


def test_a_congestion_control_that_the_kernel_lacks_is_the_machines_lack(capsys, monkeypatch):
    monkeypatch.setattr("experiments.spec.flows.available_congestion_controls", lambda: ["reno", "cubic"])
    words = "run polarfly --q 2 --flow-sizes web-search --tcp dctcp"
    assert "cubic, reno on this kernel, got 'dctcp'" in fails(capsys, words, Status.MACHINE)
