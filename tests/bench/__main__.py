"""`make bench`: measures every number that PolarLab promises, next to its reference in the same run.

    make bench                      all rows, about half an hour
    make bench ROWS="next-hops"     only the rows whose names begin with one of the words
    make bench BEFORE=v0.2.0        another commit to compare with than the one before

Numbers go to standard output as a table and to results/bench.json, with date, commit and machine; rows that
are not measured now stay there. `make benchmarks` makes docs/lab/benchmarks.md of them.
"""

from __future__ import annotations

import sys
import traceback
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import adaptation
import before
import command_rows
import deadlock_rows
import dragonfly_rows
import drain
import fabrics
import failover
import flows
import frameworks
import mathematics
import packets
import paper_rows
import programs
import results_file
import scale
import silence
import simulation_rows
import traffic_rows
import trust_rows
import validity
import web_rows
from rows import Row, RowMaker

from topology.errors import PolarLabError

MAKERS: dict[str, RowMaker] = {
    "commands": command_rows.commands,
    "next-hops-er31": mathematics.next_hops_er31,
    "next-hops-er127": mathematics.next_hops_er127,
    "next-hops-polarstar": mathematics.next_hops_polarstar,
    "proof-er13": mathematics.proof_er13,
    "proof-er11-links": mathematics.proof_er11_links,
    "proof-er31-links": mathematics.proof_er31_links,
    "proof-papers": mathematics.proofs_of_the_papers,
    "families-built": mathematics.families_built,
    "deadlock-proofs": deadlock_rows.proofs,
    "papers-analytic": paper_rows.analytic,
    "papers-quick": paper_rows.quick,
    "papers-er31": paper_rows.er31,
    "plan-ugal-pf": mathematics.plans_of_ugal_pf,
    "replan": mathematics.replans,
    "packets": packets.socket_rates,
    "memory": packets.memory,
    "patterns": traffic_rows.patterns_er7,
    "link-loads": traffic_rows.uniform_link_loads,
    "collective-ring": traffic_rows.ring_allreduce,
    "collective-compared": traffic_rows.compared_allreduce,
    "own-programs": programs.iperf3_er3,
    "flows-er5": flows.web_search_er5,
    "er7": fabrics.er7_against_mininet,
    "link-rate": fabrics.link_rates,
    "validity-overloads": validity.overloads,
    "validity-rate": validity.highest_rate,
    "validity-accepted": validity.accepted_with_defaults,
    "adaptive-state": adaptation.state_of_ugal_pf,
    "adaptive-er5": adaptation.er5,
    "adaptive-polarstar": adaptation.polarstar,
    "adaptive-loop": adaptation.control_loop,
    "failover-silence": failover.silence,
    "failover-parts": silence.breakdown,
    "failover-repeat": failover.repeated,
    "failover-replan": failover.replanning,
    "failover-soak": failover.soak,
    "drain": drain.every_switch,
    "dragonfly-adv": dragonfly_rows.adversarial,
    "dragonfly-colours": dragonfly_rows.colours,
    "dragonfly-one-channel": dragonfly_rows.one_channel,
    "frameworks": frameworks.compared,
    "largest-er11": fabrics.largest_er11,
    "largest-er13": fabrics.largest_er13,
    "scale-er13": scale.er13,
    "scale-er17": scale.er17,
    "scale-er23": scale.er23,
    "scale-er31": scale.er31,
    "simulate-er7": simulation_rows.er7,
    "simulate-er31": simulation_rows.er31,
    "simulate-start": simulation_rows.start,
    "simulate-booksim": simulation_rows.booksim,
    "simulate-detours": simulation_rows.detours,
    "simulate-saturation": simulation_rows.saturation,
    "web-cut": web_rows.cuts,
    "web-frames": web_rows.frames,
    "web-cost": web_rows.costs,
    "web-pages": web_rows.crowds,
    "web-size": web_rows.sizes,
    "trust-fuzz": trust_rows.fuzz,
    "trust-defaults": trust_rows.defaults,
    **{f"before-{name}": partial(before.compared, name) for name in before.COMMANDS},
}
RESULTS = Path("results/bench.json")


def main(words: list[str]) -> int:
    """Measures the chosen rows; returns 1 if one misses its goal."""
    chosen = [name for name in MAKERS if not words or any(name.startswith(word) for word in words)]
    if not chosen:
        print(f"no such row; there are: {', '.join(MAKERS)}", file=sys.stderr)
        return 2
    measured: dict[str, list[Row]] = {}
    origin = results_file.provenance()
    status = 0
    for name in chosen:
        print(f"measuring {name}", file=sys.stderr, flush=True)
        try:
            measured[name] = _measured_alone(name)
        except KeyboardInterrupt:
            status = 130
            break
        except Exception as error:  # the rows that were measured must not be lost
            if not isinstance(error, PolarLabError):
                traceback.print_exc()
            measured[name] = [Row(name, "-", f"failed: {error!r}", "-", reached=False)]
        results_file.write(RESULTS, measured, origin, list(MAKERS))
    rows = [row for group in measured.values() for row in group]
    _print_table(rows)
    return status or int(not all(row.reached for row in rows))


def _measured_alone(name: str) -> list[Row]:
    """Returns rows that a process of their own has measured.

    What one row leaves in memory would count as the next one's, and slow down its starts of programs: each
    begins as a copy of the process.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
        return alone.submit(MAKERS[name]).result()


def _print_table(rows: list[Row]) -> None:
    heads = ("what", "reference, same run", "measured", "goal", "reached")
    table = [heads] + [
        (row.what, row.reference, row.measured, row.goal, "yes" if row.reached else "NO") for row in rows
    ]
    widths = [max(len(line[column]) for line in table) for column in range(len(heads))]
    for number, line in enumerate(table):
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("| " + " | ".join(cells) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
