"""Places of temporaries in the scratch arena."""
from __future__ import annotations

from numjet.cpu.ir.parser import parse
from numjet.cpu.passes.memory_plan import plan


def test_epilogues_of_products_run_side_by_side():
    """While one thread is at the second half of its rows, another one is at the first."""
    text = """
function f(in1: float32[28000], in2: float32[14000]) -> (out3: float32[80000]) scratch 0 {
  temp t4: float32[400]
  temp t5: float32[400]
  gemm of out3: float32[80000] nj_gemm_epilogue(11, 1, 400, 200, 70, &in1[0], 28000, 70, 1, &in2[0], 14000, 200, 1, \
&out3[0], 0) reads (in1, in2) writes (out3) whole rows (row6, row_end7) columns (column8, column_end9) {
    for i10 in row6 .. row_end7 serial () {
      store t4[i10] = add(out3[mul(i10, 200)], 1.0:float32)
      store out3[mul(i10, 200)] = t4[i10]
      store t5[i10] = add(out3[mul(i10, 200)], 2.0:float32)
      store out3[add(mul(i10, 200), 1)] = t5[i10]
    } -> ()
  }
}
"""
    function = parse(text)
    assert plan(function) >= 2 * 1600
    one, other = function.temps
    assert abs(one.offset - other.offset) >= 1600
