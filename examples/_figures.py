"""Times and memory, as the programs beside this file print them."""
import time

import numjet as nj


def least(functions, *args, repeats=20):
    """The least time of each function in milliseconds; they are called in turn, once more at the beginning."""
    times = [[] for _ in functions]
    for _ in range(repeats + 1):
        for f, own in zip(functions, times, strict=True):
            start = time.perf_counter()
            nj.block_until_ready(f(*args))
            own.append(1e3 * (time.perf_counter() - start))
    return [min(own[1:]) for own in times]


def temporaries(fun, *args):
    """KiB that the compiled function needs beside its arguments and results. All of it is planned when it is compiled."""
    return nj.jit(fun).lower(*args).compile().memory_analysis().temp_size_in_bytes / 1024
