"""Generated lines for the prompt: names, shell syntax, commands, control characters."""

import random

HOSTS = ("h1_1", "h2_1", "h7_1")
NAMES = (
    *HOSTS,
    "s1",
    "s7",
    "h99_1",
    "s99",
    "h1_2",
    "H1_1",
    "net",
    "",
    "10.0.0.1",
    "ü",
    "link:s1-s2",
    "switch:s3",
)
# Whatever these do in a shell, they do it to that shell only.
SHELL = (
    *(
        "true",
        "false",
        "echo a",
        "exit",
        "exit 7",
        "logout",
        "kill -9 $$",
        "kill -STOP $$",
        "kill $$",
        "cat",
        "read x",
    ),
    *(
        "sleep 100",
        "sleep 100 &",
        "exec true",
        "exec sleep 100",
        "exec 2>/dev/null",
        "exec </dev/null",
        "exec >&-",
    ),
    *("set -e; false", "set -u; echo $nothing", "set -n", "set -x", "set -o posix", "PS1=x", "unset PS1 PS2"),
    *(
        "stty raw",
        "stty echo",
        "stty -isig",
        "trap '' INT; sleep 100",
        "trap 'exit 3' DEBUG",
        "cd /nowhere",
        "cd",
    ),
    *(
        "bash",
        "sh",
        "python3",
        "while true; do :; done",
        "printf '\\177'",
        "printf '\\001\\003\\004'",
        "ulimit -t 1",
    ),
    *(
        "head -c 5000 /dev/urandom",
        "yes | head -c 100000",
        "seq 9999",
        "source /dev/null",
        "return",
        "break",
        "wait",
    ),
    *(
        "ping -c 1 -W 1 h2_1",
        "ping -c 1 -W 1 s3",
        "ping -i 0.2 h7_1",
        "ip route",
        "ip -br address",
        "env -i true",
    ),
    *(
        "echo 'a",
        'echo "a',
        "echo `a",
        "echo $(",
        "echo ${a",
        "(",
        ")",
        "{",
        "}",
        "if",
        "do",
        "case x in",
        "cat <<END",
    ),
    *(
        "echo a >",
        "echo a | ",
        "echo a &&",
        "echo a ||",
        "&",
        "&&",
        "|",
        ";",
        ";;",
        "#",
        "!",
        "!!",
        "!1",
        "^a^b",
        "\\",
    ),
    *("set -u; echo $undefd", "set -e", "set -u", "set -r", "set -t", "set -o emacs", "set -v", "set +m -b"),
    *("exec 2>&-", "exec >&- 2>&-", "exec 0<&-", "exec cat", "exec >/dev/null 2>&1", "exec bash --norc"),
    *(
        "trap false DEBUG; shopt -s extdebug",
        "trap 'sleep 100' DEBUG",
        "trap '' INT QUIT TERM",
        "trap : ERR EXIT",
    ),
    *("kill -STOP $$; echo a", "bash -c 'kill -STOP $$'", "suspend -f", "kill -TSTP $$", "kill -INT $$"),
    *("PROMPT_COMMAND='sleep 100'", "PROMPT_COMMAND=cat", "PS0='$(cat)'", "PS1=", "set -x; PS4='$(cat)'"),
    *(
        "stty -icanon min 200",
        "stty 0",
        "stty olcuc",
        "stty intr a",
        "stty -a",
        "shopt -s nocasematch",
        "shopt",
    ),
    *(
        "enable -n echo",
        "enable -n printf builtin",
        "alias printf=false builtin=cat",
        "unalias -a",
        "return 3",
    ),
    *(
        "builtin() { cat; }",
        "eval() { cat; }",
        "alias eval=true",
        "enable -n eval",
        "printf() { sleep 100; }",
        "unset -f printf builtin",
        "unset PS1; readonly x=1; x=2",
    ),
    *(
        "while :; do :; done &",
        "yes &",
        "cat </dev/tty &",
        "cat <<'END' &",
        "cat <<<a",
        "cat <<END; echo END",
    ),
    *(
        "ulimit -n 0",
        "ulimit -f 0; ulimit -v 1",
        "read -t 1 x",
        "IFS=@; a=$?",
        "umask 777",
        "shift 9",
        "local a",
    ),
    *(
        "*",
        "?",
        "~",
        "[[",
        "[[ a",
        "((1+",
        "function f",
        "f() { f; }; f",
        "a=1",
        "$0",
        "$$",
        "%1",
        "fg",
        "bg",
        "jobs",
    ),
)
COMMANDS = (
    *(
        "fail",
        "restore",
        "hang",
        "controller",
        "drops",
        "loads 0.1",
        "loads",
        "path",
        "traffic",
        "help",
        "nodes",
        "net",
    ),
    *(
        "dump",
        "intfs",
        "links",
        "ports",
        "link",
        "switch",
        "pingpair",
        "pingpairfull",
        "wait",
        "dpctl",
        "x",
        "xterm",
    ),
    *(
        "gterm",
        "noecho",
        "source",
        "time",
        "py",
        "px",
        "sh",
        "iperf",
        "iperfudp",
        "EOF",
        "unknown",
        "?",
        "!",
        "shell",
    ),
    *("pingall 1", "pingallfull"),
)
ARGUMENTS = (
    *(
        "kill",
        "start",
        "stop",
        "restart",
        "status",
        "all",
        "up",
        "down",
        "random:1",
        "random:99",
        "controller",
    ),
    *(
        "hang:s2",
        "link:s1-s1",
        "dump-flows",
        "monitor",
        "uniform",
        "tornado 0.1",
        "0.1",
        "nan",
        "-1",
        "1e999",
        "1",
    ),
    *(
        "/nowhere",
        "/dev/zero",
        "/etc/hostname",
        ".",
        "--help",
        "-h",
        "'",
        '"',
        "|| true",
        "&",
        ";",
        "#",
        "$(true)",
    ),
)
PYTHON = (
    *(
        "py exit()",
        "py quit()",
        "py 1/0",
        "py h1_1.cmd('exit')",
        "py h1_1.cmd('echo a')",
        "py h1_1.sendCmd('cat')",
    ),
    *(
        "py (",
        "py input()",
        "py __import__('sys').exit(3)",
        "py __import__('sys').stdin.close()",
        "py [].a",
        "py net",
    ),
    *(
        "px raise SystemExit(3)",
        "px raise KeyboardInterrupt",
        "px import nosuch",
        "px def",
        "px raise BaseException",
    ),
    *(
        "py h1_1.shell.kill()",
        "py h1_1.stdin.close",
        "py net.hosts[99]",
        "px f = lambda: f()\\nf()",
        "py 'x' * 10**5",
    ),
    *(
        "py __import__('time').sleep(100)",
        "px while True: pass",
        "py h1_1.waitOutput()",
        "py session.drops()",
    ),
)
CONTROL = (
    "\x00",
    "\x01",
    "\x03",
    "\x04",
    "\x07",
    "\x08",
    "\x0b",
    "\x11",
    "\x13",
    "\x1a",
    "\x1b[2J",
    "\x1c",
    "\x7f",
    "\t",
)


def generated_lines(count: int, seed: int) -> list[str]:
    """Returns lines of all kinds; none of them leaves the prompt."""
    draw = random.Random(seed)
    kinds = (_on_node, _on_node, _on_node, _command, _command, _python, _outside, _noise)
    lines = []
    while len(lines) < count:
        line = draw.choice(kinds)(draw)
        if draw.random() < 0.08:
            place = draw.randrange(len(line) + 1)
            line = line[:place] + draw.choice(CONTROL) + line[place:]
        if line.strip().partition(" ")[0] not in ("exit", "quit"):
            lines.append(line.replace("\n", " "))
    return lines


def _on_node(draw: random.Random) -> str:
    commands = [draw.choice(SHELL) for _ in range(draw.choice((1, 1, 1, 2)))]
    return f"{draw.choice((*HOSTS, 's1', 's7'))} {draw.choice((' ', '; ', ' | ')).join(commands)}"


def _command(draw: random.Random) -> str:
    words = [draw.choice((*NAMES, *ARGUMENTS)) for _ in range(draw.choice((0, 1, 1, 2, 3)))]
    prefix = draw.choice(("", "", "", "time ", "noecho "))
    return " ".join([prefix + draw.choice(COMMANDS), *words])


def _python(draw: random.Random) -> str:
    return draw.choice(PYTHON)


def _outside(draw: random.Random) -> str:
    return (
        f"sh {draw.choice(('true', 'false', 'exit 3', 'cat', 'echo a', '(', 'sleep 100', 'kill -9 $$', ''))}"
    )


def _noise(draw: random.Random) -> str:
    pool = "abs1_h ;|&<>()'\"`\\$#!*?~{}[]=%^,.:-üß\u202e\t"
    noise = "".join(draw.choice(pool) for _ in range(draw.randrange(30)))
    return draw.choice(("", "h1_1 echo ", "fail ", "path ")) + noise.replace(">", " ")
