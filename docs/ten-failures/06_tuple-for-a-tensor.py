"""A model that writes to a buffer returns a tensor in eager, and a tuple of one when compiled.

There is neither an error nor a warning. Lowering makes an input of the buffer that is written to,
and gives the graph a plain `CodeGen`, at torch_tensorrt/dynamo/lowering/_buffer_lifting.py:631
(function `lift_mutated_buffers`). The old one knew how the outputs are packed, and the new one
does not. The defect's id is tuple-for-a-tensor.
"""

import copy
import sys

import torch
import torch_tensorrt


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.randn(1, 2, 8, 4))

    def forward(self, x, position):
        self.keys.index_copy_(2, position, torch.relu(x))
        scores = torch.matmul(x, self.keys.transpose(2, 3))
        return torch.relu(torch.matmul(scores, self.keys)) + 1


model = Attention().eval().cuda()
inputs = (torch.randn(1, 2, 1, 4).cuda(), torch.tensor([5]).cuda())
expected = copy.deepcopy(model)(*inputs)
compiled = torch_tensorrt.dynamo.compile(
    torch.export.export(model, inputs),
    arg_inputs=inputs,
    min_block_size=1,
    torch_executed_ops={"torch.ops.aten.relu.default"},
)
returned = compiled(*inputs)
print(
    "eager returns a", type(expected).__name__, "and the compiled module a", type(returned).__name__
)
if isinstance(returned, tuple):
    print("its element is right:", len(returned) == 1 and torch.allclose(returned[0], expected))
    sys.exit(1)

right = torch.allclose(returned, expected)
print("the compiled module is right:", right)
sys.exit(0 if right else 1)
