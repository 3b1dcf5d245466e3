"""Metrics of a fabric in Prometheus's text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

TYPE = "text/plain; version=0.0.4; charset=utf-8"
# name -> (type, help); documented in docs/how-to/web.md.
METRICS = {
    "polarlab_link_load": ("gauge", "Load of one direction of a link, as a fraction of its rate"),
    "polarlab_link_queue_packets": ("gauge", "Packets waiting in the queue of one direction of a link"),
    "polarlab_link_dropped_packets_total": ("counter", "Packets dropped by the queue of one direction"),
    "polarlab_link_up": ("gauge", "Whether the port of one direction of a link has a carrier"),
    "polarlab_elements_failed": ("gauge", "Failed links and switches"),
    "polarlab_elements_drained": ("gauge", "Drained links and switches"),
    "polarlab_controller_up": ("gauge", "Whether the controller is running"),
    "polarlab_groups_modified_total": ("counter", "Changes of adaptive groups by the controller"),
    "polarlab_groups_detoured": ("gauge", "Fraction of all adaptive buckets that point at detours"),
    "polarlab_replans_total": ("counter", "Plans that the controller made for failures and drains"),
    "polarlab_incidents_total": ("counter", "Probed failures, restorations and drains of the fabric"),
    "polarlab_incident_silence_seconds": ("gauge", "Longest silence of a probed pair in the latest incident"),
    "polarlab_incident_lost_packets": ("gauge", "Probes lost in the latest incident"),
    "polarlab_incident_repaired_seconds": ("gauge", "Time until probes of all pairs arrived again"),
    "polarlab_incident_planned_seconds": ("gauge", "Time until the controller's plan was installed"),
    "polarlab_traffic_offered": ("gauge", "Offered load in the last second, of the hosts' capacity"),
    "polarlab_traffic_accepted": ("gauge", "Accepted load in the last second, of the hosts' capacity"),
    "polarlab_traffic_loss": ("gauge", "Fraction of packets lost, of those that had time to arrive"),
    "polarlab_traffic_out_of_order": ("gauge", "Fraction of the last second's packets that were reordered"),
    "polarlab_traffic_latency_seconds": ("summary", "Percentiles of recent latencies"),
    "polarlab_valid": ("gauge", "Whether the current measurement is valid"),
    "polarlab_held_frame_times": (
        "gauge",
        "Longest mean time for which a switch held frames, in frame times",
    ),
}
Sample = tuple[dict[str, str], float | None]


def text_of(about: dict[str, Any] | None, state: dict[str, Any] | None) -> str:
    """Returns the metrics of a fabric; an empty text if none is running.

    Args:
        about: description of the fabric.
        state: its latest state.
    """
    if not about or not state:
        return ""
    lines = []
    samples = _samples(about, state)
    for name, (kind, text) in METRICS.items():
        values = list(samples.get(name, ()))
        if values:
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
            # A number beyond the range of floats, as only a forged replay has it, is null in messages.
            known = [(labels, value) for labels, value in values if value is not None]
            lines += [f"{name}{_labels(labels)} {float(value)!r}" for labels, value in known]
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, str]) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}" if labels else ""


def _samples(about: dict[str, Any], state: dict[str, Any]) -> dict[str, Iterable[Sample]]:
    down = set(state["down"])
    samples: dict[str, Iterable[Sample]] = {
        "polarlab_link_load": _directions(about, lambda at: state["load"][at]),
        "polarlab_link_queue_packets": _directions(about, lambda at: state["waiting"][at]),
        "polarlab_link_dropped_packets_total": _directions(about, lambda at: state["dropped"][at]),
        "polarlab_link_up": _directions(about, lambda at: at not in down),
        "polarlab_elements_failed": [({}, len(state["failed"]))],
        "polarlab_elements_drained": [({}, len(state["drained"]))],
        "polarlab_controller_up": [({}, state["controller"] == "running")],
        "polarlab_groups_modified_total": [({}, state["groups_modified"])],
        "polarlab_replans_total": [({}, state["replans"])],
    }
    if state["detoured"] is not None:
        samples["polarlab_groups_detoured"] = [({}, state["detoured"])]
    if state["validity"]["valid"] is not None:
        samples["polarlab_valid"] = [({}, state["validity"]["valid"])]
        samples["polarlab_held_frame_times"] = _known(state["validity"]["held_frame_times"])
    return samples | _incident_samples(state["incident"]) | _traffic_samples(state["traffic"])


def _directions(about: dict[str, Any], value: Any) -> Iterator[Sample]:
    for link in about["links"]:
        for end, other, at in ((0, 1, link["directions"][0]), (1, 0, link["directions"][1])):
            names = [f"s{link['ends'][one] + 1}" for one in (end, other)]
            yield {"link": link["name"], "from": names[0], "to": names[1]}, value(at)


def _incident_samples(incident: dict[str, Any] | None) -> dict[str, Iterable[Sample]]:
    if incident is None:
        return {"polarlab_incidents_total": [({}, 0.0)]}
    return {
        "polarlab_incidents_total": [({}, incident["number"])],
        "polarlab_incident_silence_seconds": [({}, incident["silence_ms"] / 1e3)],
        "polarlab_incident_lost_packets": [({}, incident["lost"])],
        "polarlab_incident_repaired_seconds": _known(incident["repaired_ms"], 1e-3),
        "polarlab_incident_planned_seconds": _known(incident["planned_ms"], 1e-3),
    }


def _traffic_samples(traffic: dict[str, Any] | None) -> dict[str, Iterable[Sample]]:
    if traffic is None:
        return {}
    latencies = [
        ({"quantile": quantile}, traffic[key] / 1e3)
        for quantile, key in (("0.5", "latency_p50_ms"), ("0.99", "latency_p99_ms"))
        if traffic[key] is not None
    ]
    return {
        "polarlab_traffic_offered": [({}, traffic["offered"])],
        "polarlab_traffic_accepted": [({}, traffic["accepted"])],
        "polarlab_traffic_loss": _known(traffic["loss"]),
        "polarlab_traffic_out_of_order": _known(traffic["out_of_order"]),
        "polarlab_traffic_latency_seconds": latencies,
    }


def _known(value: float | None, unit: float = 1.0) -> list[Sample]:
    return [] if value is None else [({}, value * unit)]
