"""Requests of the parent to the controller: the newest drain that was asked for."""

from controller.requests import channel, request_drain, requested_drain


def test_the_newest_request_counts_and_each_is_returned_once():
    parent, controller = channel()
    with parent, controller:
        assert requested_drain(controller) is None
        request_drain(parent, ["switch:s3"])
        request_drain(parent, ["switch:s3", "link:s1-s2"])
        assert requested_drain(controller) == ("switch:s3", "link:s1-s2")
        assert requested_drain(controller) is None
        request_drain(parent, [])
        assert requested_drain(controller) == ()


def test_a_parent_that_has_ended_asks_for_nothing():
    parent, controller = channel()
    with controller:
        parent.close()
        assert requested_drain(controller) is None
