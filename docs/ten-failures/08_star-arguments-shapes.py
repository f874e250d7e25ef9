"""`save` refuses the `dynamic_shapes` of a model that takes `*args`, which torch.export took.

torch.export wants one nested tuple of shapes for `*tensors`. The compiled module has one named
input for each tensor instead, and `save` holds the nested tuple against those, at
torch_tensorrt/dynamo/_exporter.py:562 (function `create_trt_exp_program`). The error says nothing
of shapes. The defect's id is star-arguments-shapes.
"""

import sys
import tempfile
from pathlib import Path

import torch
import torch_tensorrt


class Star(torch.nn.Module):
    def forward(self, *tensors):
        first, second, third = tensors
        return torch.relu(first * 2 - second) * third + second


model = Star().eval().cuda()
inputs = tuple(torch.randn(4, 8).cuda() for _ in range(3))
expected = model(*inputs)
rows = {0: torch.export.Dim("batch", min=1, max=8)}
shapes = ((rows, rows, rows),)  # one nested tuple for `*tensors`, as torch.export wants it
described = torch_tensorrt.Input(min_shape=(1, 8), opt_shape=(4, 8), max_shape=(8, 8))
compiled = torch_tensorrt.dynamo.compile(
    torch.export.export(model, inputs, dynamic_shapes=shapes),
    arg_inputs=[described, described, described],
    min_block_size=1,
    torch_executed_ops={"torch.ops.aten.relu.default"},
)
print("the compiled module is right:", torch.allclose(compiled(*inputs), expected))

with tempfile.TemporaryDirectory() as folder:
    file = str(Path(folder, "model.pt2"))
    try:
        torch_tensorrt.save(
            compiled, file, arg_inputs=inputs, dynamic_shapes=shapes, use_legacy_exporter=True
        )
    except AssertionError as error:
        print("save:", error)
        sys.exit(1)
    loaded = torch_tensorrt.load(file).module()

right = torch.allclose(loaded(*inputs), expected)
print("the loaded program is right:", right)
sys.exit(0 if right else 1)
