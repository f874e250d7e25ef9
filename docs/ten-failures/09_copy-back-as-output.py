"""A saved model returns its running state as one more output, and never updates it.

The buffer's new value is a trailing output of the graph, which somebody has to declare as a write
to the buffer. With `retrace=False, use_legacy_exporter=False` nobody does: `save` warns, and then
leaves the buffers' names out, at torch_tensorrt/_compile.py:1198 (function `save`), where it gives
them at line 1330 for `retrace=True`. So the second call of the loaded program returns wrong
numbers. The defect's id is copy-back-as-output.
"""

import copy
import sys
import tempfile
from pathlib import Path

import torch
import torch_tensorrt


class Window(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.randn(1, 2, 8, 4))

    def forward(self, x):
        self.keys.copy_(torch.cat([self.keys[:, :, 1:], x], 2))
        return torch.relu(torch.matmul(x, self.keys.transpose(2, 3))) + 1


model = Window().eval().cuda()
x = torch.randn(1, 2, 1, 4).cuda()
eager = copy.deepcopy(model)
expected = [eager(x), eager(x)]  # the second call sees what the first one wrote
compiled = torch_tensorrt.dynamo.compile(
    torch.export.export(model, (x,)),
    arg_inputs=[x],
    min_block_size=1,
    torch_executed_ops={"torch.ops.aten.relu.default"},
)

with tempfile.TemporaryDirectory() as folder:
    file = str(Path(folder, "model.pt2"))
    torch_tensorrt.save(compiled, file, arg_inputs=[x], retrace=False, use_legacy_exporter=False)
    loaded = torch_tensorrt.load(file).module()

returned = [loaded(x), loaded(x)]
tensors = [each if isinstance(each, tuple) else (each,) for each in returned]
right = [torch.allclose(got[0], want) for got, want in zip(tensors, expected, strict=True)]
print("the loaded program returns so many tensors, where eager returns one:", len(tensors[0]))
print("its first tensor is right in the first call:", right[0], "and in the second:", right[1])
sys.exit(0 if len(tensors[0]) == 1 and all(right) else 1)
