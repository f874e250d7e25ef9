"""A program whose size depends on data is saved without an error, and `load` refuses the file.

The size comes out of `count.item()`, and in the graph it is a symbol (u0) that no input's shape
tells. The legacy exporter, which `save(retrace=False)` takes, gathers the symbols of the program
from the shapes of its inputs alone, at torch_tensorrt/dynamo/_exporter.py:573 (function
`create_trt_exp_program`). So the file does not declare u0, and torch.export.load ends in
"KeyError: u0". The defect's id is data-dependent-size.
"""

import sys
import tempfile
from pathlib import Path

import torch
import torch_tensorrt


class FirstRows(torch.nn.Module):
    def forward(self, x, count):
        rows = count.item()
        torch._check(rows >= 1)
        torch._check(rows <= 8)
        return torch.relu((x + 1).narrow(0, 0, rows)) * 2


model = FirstRows().eval().cuda()
inputs = (torch.randn(8, 4).cuda(), torch.tensor(3).cuda())
expected = model(*inputs)
compiled = torch_tensorrt.dynamo.compile(
    torch.export.export(model, inputs),
    arg_inputs=inputs,
    min_block_size=1,
    torch_executed_ops={
        "torch.ops.aten.relu.default",
        "torch.ops.aten.item.default",
        "torch.ops.aten._local_scalar_dense.default",
    },
)
print("the compiled module is right:", torch.allclose(compiled(*inputs), expected))

with tempfile.TemporaryDirectory() as folder:
    file = str(Path(folder, "model.pt2"))
    torch_tensorrt.save(compiled, file, arg_inputs=inputs, retrace=False)
    print("save: no error")
    try:
        loaded = torch_tensorrt.load(file).module()
    except ValueError as error:
        print("load:", error)
        sys.exit(1)

right = torch.allclose(loaded(*inputs), expected)
print("the loaded program is right:", right)
sys.exit(0 if right else 1)
