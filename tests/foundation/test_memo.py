import math
import threading

import pytest

from numjet.foundation.config import config, enable_x64
from numjet.foundation.memo import Memo, clear_memos, memoized, memos


def test_a_memo_stays_within_its_number():
    memo = Memo("test", 10)
    for n in range(1000):
        memo.put(n, n + 1)
        assert len(memo) <= 10 and memo.get(n) == n + 1
    assert memo.get(0) is None and memo.rotations > 0


def test_a_memo_stays_within_its_bytes():
    memo = Memo("test", 10**6, 1000)
    for n in range(1000):
        memo.put(n, n, 100)
        assert len(memo) <= 10
    memo.put("big", 1, 10**6)
    assert memo.get("big") == 1 and len(memo) <= 11
    memo.grew("big", 5)
    memo.grew("absent", 5)
    assert memo.get("absent") is None


def test_what_is_used_stays():
    memo = Memo("test", 20)
    memo.put("used", 1)
    for n in range(1000):
        memo.put(n, n)
        assert memo.get("used") == 1
    assert memo.get(0) is None


def test_rotations_are_reported():
    sizes: list[int] = []
    memo = Memo("test", 4, on_rotation=lambda: sizes.append(len(memo)))
    for n in range(10):
        memo.put(n, n)
    assert len(sizes) == memo.rotations > 1


def test_all_memos_are_known_and_cleared():
    memo = Memo("test", 4)
    memo.put(1, 2)
    assert memo in memos
    clear_memos()
    assert memo.get(1) is None and len(memo) == 0


def test_remembered_functions_know_types_signs_and_flags():
    calls = []

    @memoized("test", 100)
    def f(x, *, y=0):
        calls.append(x)
        return (x, y)

    for x in (1, True, 1.0, 0.0, -0.0, math.nan, [1], (True,), [True], (1,)):
        before = len(calls)
        assert f(x) is f(x)
        assert len(calls) == before + 1
    f(1, y=1)
    with enable_x64(True):
        f(1)
    assert len(calls) == 12


def test_what_was_made_while_a_flag_changed_is_not_remembered():
    calls = []

    @memoized("test", 100)
    def f(x):
        calls.append(x)
        if len(calls) == 1:
            config.update("jax_random_seed_offset", 17)
            config.update("jax_random_seed_offset", 0)
        return x

    assert [f(5), f(5), f(5)] == [5, 5, 5] and calls == [5, 5]


def test_errors_are_not_remembered():
    calls = []

    @memoized("test", 100)
    def f(x):
        calls.append(x)
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            f(1)
    assert calls == [1, 1]


def test_threads_share_a_memo():
    memo, wrong = Memo("test", 64), []

    def work(seed):
        for n in range(5000):
            k = (n * seed) % 200
            found = memo.get(k)
            if found is None:
                memo.put(k, k + 1, 1)
            elif found != k + 1:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 3, 7, 11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(memo) <= 64 + 4
