"""How texts are sent to a server: some requests at once, and none after one that failed."""

from threading import Barrier, Lock

import pytest

from assay.retrievers.base import AssayError
from assay.retrievers.engines.servers.collections import send
from assay.retrievers.services.retries import count_retries, count_wait

IN_FLIGHT = 4


def test_as_many_are_in_flight_as_may_be_and_no_more():
    together, lock = Barrier(IN_FLIGHT, timeout=20), Lock()
    inside, most, done = 0, 0, []

    def put(part):
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        together.wait()  # returns where so many are here at once
        with lock:
            inside -= 1
            done.append(part)

    send(range(3 * IN_FLIGHT), put, IN_FLIGHT)
    assert most == IN_FLIGHT
    assert sorted(done) == list(range(3 * IN_FLIGHT))


def test_nothing_is_begun_after_a_failure():
    begun = []

    def put(part):
        begun.append(part)
        if part == 2:
            raise AssayError("refused")

    with pytest.raises(AssayError, match="refused"):
        send(range(100), put, IN_FLIGHT)
    assert len(begun) <= 2 + 2 * IN_FLIGHT


def test_tries_of_other_threads_are_counted():
    with count_retries() as cost:
        send(range(3), lambda _: count_wait(1, 0.5), IN_FLIGHT)
    assert (cost.retries, cost.milliseconds) == (3, 1500)
