from threading import Event, Semaphore, Timer

import pytest

from assay.retrievers.base.threads import ThreadPool


def test_an_interrupt_waits_for_nothing_but_what_was_begun():
    begun, may_end = Semaphore(0), Event()
    done = []

    def work(number):
        begun.release()
        may_end.wait(30)
        done.append(number)

    def interrupt():
        with ThreadPool(2) as pool:
            for number in range(100):
                pool.submit(work, number)
            assert all(begun.acquire(timeout=30) for _ in range(2))
            Timer(0.2, may_end.set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert sorted(done) == [0, 1]
