"""Runs, sweeps and failovers, each on its own fabric; real packets need root."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, cast

from emulation import requirements
from emulation.subprocesses import add_administration_folders
from experiments.events.base import OnEvent, ignore
from experiments.events.marks import PointsMeasured
from experiments.events.pace import paced
from experiments.results.kinds import Results
from experiments.results.open import Failover, Failovers, Run, SimulatedSweep, Sweep
from experiments.spec.experiment import Experiment
from experiments.spec.failover import with_time_to_look
from experiments.spec.options import FAILOVER, RUN, SWEEP
from experiments.spec.resolve import Failovers as FailoversSpecification
from experiments.spec.resolve import Run as RunSpecification
from experiments.spec.resolve import Sweep as SweepSpecification
from experiments.spec.simulation.resolve import SimulatedSweep as SimulatedSweepSpecification
from polarlab.api.arguments import checked_scheduler, keywords_in_errors
from polarlab.api.keywords import takes_options
from polarlab.api.requests import Folder, Subject, request_of
from polarlab.web.address import Web, web_address
from topology.errors import UsageError

if TYPE_CHECKING:
    from polarlab.api.keyword_types import FailoverKeywords, RunKeywords, SweepKeywords


@takes_options(RUN)
def run(
    experiment: Subject | None = None,
    /,
    *,
    again: Results | Folder | None = None,
    out: Folder | None = None,
    progress: OnEvent = ignore,
    web: Web = None,
    web_open: bool = False,
    **options: Unpack[RunKeywords],
) -> Run:
    """Runs one experiment and returns its results.

    Args:
        experiment: family of the topology, such as `polarfly`; a graph; the file of an experiment (.toml); an
            Experiment; or results, or their folder, to measure again.
        again: results to measure again, or their folder, instead of `experiment`; other options change the
            experiment.
        out: folder of the results; by default a new one in results/.
        progress: callback for progress events, at most one every 5 s during a long activity; `print` works.
        web: address of the live page, such as `8642` or `127.0.0.1:8642`; True for the latter, None for
            no page.
        web_open: whether every user of this machine may open the page, without a token.
        options: parameters of the family and options of `polarlab run` by name with underscores, such
            as `q=3, hosts=2, link_rate="2Mbit", pattern="tornado", load=0.6`; they override those of a file.
            `run_programs=True` runs programs named in another user's file or results.

    Raises:
        UsageError: an option does not exist, is outside its domain, or makes no sense for this fabric.
        MachineError: this process does not run as root, or the machine lacks a requirement.
        NegativeResult: a proof failed, or packets did not take the planned paths; the folder has the results.
        KeyboardInterrupt: Ctrl-C; the folder has the measurements until then.

    Examples:
        >>> fabric = {"q": 2, "link_rate": "5Mbit"}
        >>> found = run("polarfly", **fabric, load=0.2, duration=1, warmup=0, out="results/er2")
        >>> found.summary.routing, found.summary.pattern, found.summary.packets.sent
        ('min', 'uniform', 877)
    """
    with keywords_in_errors(experiment):
        request = request_of(RUN, experiment, options, again=again, out=out)
        one = cast(RunSpecification, request.resolve())
        _require_machine()
        from experiments.run import run_experiment
        from polarlab.web.live_page import live_page

        folder = request.folder(one, out)
        with live_page(web_address(web, open_to_all=web_open), paced(progress)) as page:
            run_experiment(one, folder, page.on_event, page.watch)
        return Run(folder)


@takes_options(SWEEP)
def sweep(  # noqa: PLR0913  # the options of `polarlab sweep`
    experiment: Subject | None = None,
    /,
    *,
    again: Results | Folder | None = None,
    out: Folder | None = None,
    progress: OnEvent = ignore,
    web: Web = None,
    web_open: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    cluster_tls: Folder | None = None,
    insecure_cluster: bool = False,
    **options: Unpack[SweepKeywords],
) -> Sweep | SimulatedSweep:
    """Runs the points of a sweep that are not in its folder yet, and returns the results of all points.

    Args:
        experiment: family of the topology; a graph; the file of an experiment (.toml); an Experiment; or
            results, or their folder, which are measured again.
        again: results to measure again, or their folder, instead of `experiment`; other options change the
            experiment.
        out: folder of the results, in which an interrupted sweep resumes; by default a folder in results/
            named after the fabric. Results that are measured again get a new folder.
        progress: callback for progress events, at most one every 5 s during a long activity; `print` works.
        workers: local processes that simulate points, with `engine="simulation"`; None for one per core.
        scheduler: address of the scheduler of a dask.distributed cluster that simulates the points instead,
            such as `tcp://HOST:PORT`.
        cluster_tls: folder with ca.pem, certificate.pem and key.pem, for a scheduler at `tls://HOST:PORT`.
        insecure_cluster: whether to trust a remote scheduler without TLS, or any scheduler as root: a cluster
            can run code in this process.
        web: address of the live page, such as `8642` or `127.0.0.1:8642`; True for the latter, None for
            no page.
        web_open: whether every user of this machine may open the page, without a token.
        options: parameters of the family and options of `polarlab sweep` by name with underscores,
            such as `q=3, routings=["min", "ugal-pf"], patterns="tornado", loads=[0.2, 0.6]`, or
            `vary="ugal-pf.threshold=0.3:0.9:0.2"`. With `engine="simulation"` the points are simulated.

    Raises:
        UsageError: as for `run`, or the folder has results of a different sweep.
        MachineError: an emulated sweep does not run as root, the scheduler does not answer, or the machine
            lacks another requirement.
        NegativeResult: a proof failed, or packets did not take the planned paths.
        KeyboardInterrupt: Ctrl-C; the folder has the points measured until then.

    Examples:
        >>> asked = {"q": 3, "routings": "min", "patterns": "uniform", "cycles": 1000}
        >>> found = sweep("polarfly", **asked, loads=[0.2, 0.4], engine="simulation", out="results/loads")
        >>> [(point.load, row.stable) for point, row in found.points.items()]
        [(0.2, True), (0.4, True)]
    """
    with keywords_in_errors(experiment):
        request = request_of(SWEEP, experiment, options, again=again, out=out)
        one = cast(SweepSpecification | SimulatedSweepSpecification, request.resolve())
        folder = request.folder(one, out)
        if isinstance(one, SimulatedSweepSpecification):
            cluster = checked_scheduler(workers, scheduler, cluster_tls, insecure_cluster)
            if web is not None or web_open:
                raise UsageError("--web is for --engine emulation only; leave it out")
            from experiments.simulation.sweep import run_simulated_sweep

            simulated = run_simulated_sweep(one, folder, paced(progress), workers=workers, scheduler=cluster)
            progress(PointsMeasured(simulated, folder))
            return SimulatedSweep(folder)
        places = {"workers": workers, "scheduler": scheduler, "cluster-tls": cluster_tls}
        for name, value in {**places, "insecure-cluster": insecure_cluster or None}.items():
            if value is not None:
                raise UsageError(f"--{name} is for --engine simulation only; leave it out")
        _require_machine()
        from experiments.results.rerun import at_held_rate
        from experiments.sweep import run_sweep
        from polarlab.web.live_page import live_page

        one = cast(SweepSpecification, at_held_rate(request, folder).resolve())
        with live_page(web_address(web, open_to_all=web_open), paced(progress)) as page:
            measured = run_sweep(one.points, one.sweep, folder, page.on_event, page.watch)
        progress(PointsMeasured(measured, folder))
        return Sweep(folder)


@takes_options(FAILOVER)
def failover(
    experiment: Subject | None = None,
    /,
    *,
    again: Results | Folder | None = None,
    out: Folder | None = None,
    progress: OnEvent = ignore,
    web: Web = None,
    web_open: bool = False,
    wait: bool = False,
    **options: Unpack[FailoverKeywords],
) -> Failover | Failovers:
    """Measures failovers under probe traffic and returns the results, Failovers if there are several.

    Args:
        experiment: family of the topology, by default PolarFly with q = 5; a graph; the file of an experiment
            (.toml); an Experiment; or results, or their folder, to measure again.
        again: results to measure again, or their folder, instead of `experiment`; other options change the
            experiment.
        out: folder of the results; by default a new one in results/.
        progress: callback for progress events, at most one every 5 s during a long activity; `print` works.
        web: address of the live page, such as `8642` or `127.0.0.1:8642`; True for the latter, None for
            no page.
        web_open: whether every user of this machine may open the page, without a token.
        wait: whether to wait before the (first) failure until a browser opens the page, or Enter is pressed
            in the terminal.
        options: parameters of the family and options of `polarlab demo failover` by name with
            underscores, such as `q=3, fail="link:s1-s10", repeat=20`.

    Raises:
        UsageError: as for `run`.
        MachineError: this process does not run as root, or the machine lacks a requirement.
        NegativeResult: a proof failed, or some pairs could not reach each other at the start.
        KeyboardInterrupt: Ctrl-C; the folder has the measurements until then.

    Examples:
        >>> found = failover("polarfly", q=2, fail="link:s1-s5", out="results/failover")
        >>> found.summary.failed, found.summary.restored
        (('link:s1-s5',), True)
    """
    with keywords_in_errors(experiment):
        request = request_of(FAILOVER, experiment, options, again=again, out=out)
        address = web_address(web, open_to_all=web_open)
        with failover_shown(request, out, progress=progress, web=address, wait=wait) as results:
            return results


@contextmanager
def failover_shown(
    request: Experiment,
    out: Folder | None = None,
    *,
    progress: OnEvent = ignore,
    web: Web = None,
    wait: bool = False,
) -> Iterator[Failover | Failovers]:
    """Measures failovers and yields the results while the page, if there is one, replays them.

    Args:
        request: the requested failovers.
        out: see `failover`.
        progress: see `failover`.
        web: see `failover`.
        wait: see `failover`.
    """
    if wait and web is None:
        raise UsageError("--wait is for the live page; also give --web")
    one = cast(FailoversSpecification, request.resolve())
    _require_machine()
    folder = request.folder(one, out)
    from experiments.failover.demonstration import run_failover
    from experiments.failover.series import run_failover_series
    from polarlab.web.live_page import live_page

    several = len(one.failovers.repetitions) > 1
    if wait and not several:
        one = replace(one, failovers=with_time_to_look(one.failovers))
    with live_page(web, paced(progress)) as page:
        ready = page.wait_for_viewer if wait else lambda: None
        if several:
            run_failover_series(one.fabric, one.failovers, folder, page.on_event, page.watch, ready)
        else:
            [only] = one.failovers.repetitions
            run_failover(one.fabric, only, folder, page.on_event, page.watch, ready)
        page.replay(folder)
        yield Failovers(folder) if several else Failover(folder)


def schema() -> dict[str, Any]:
    """Returns the JSON schema of experiment files.

    Examples:
        >>> schema()["$schema"]
        'https://json-schema.org/draft/2020-12/schema'
    """
    from experiments.spec.files.schema import schema as schema_of_files

    return schema_of_files()


def _require_machine() -> None:
    """Raises MachineError unless this machine can launch fabrics; called before Mininet is imported."""
    add_administration_folders()
    requirements.require_emulation()
