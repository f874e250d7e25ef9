"""A cache that a second TensorRT engine reads: the model compiles, and every call of it raises.

The first engine writes to the cache and has to hand it to the second one, as its last output.
`user_output_count` takes every aliased output at the end for one that nobody reads, at
torch_tensorrt/dynamo/runtime/_TorchTensorRTModule.py:68, and `TorchTensorRTModule.forward` drops
it, at line 759. One output is left and is returned bare, and the graph then takes element 1 of
that tensor. The defect's id is cache-read-twice.
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
        self.keys.index_copy_(2, position, x * 2)
        scores = torch.matmul(x, self.keys.transpose(2, 3)) * 0.5
        return torch.matmul(torch.relu(scores), self.keys)


model = Attention().eval().cuda()
inputs = (torch.randn(1, 2, 1, 4).cuda(), torch.tensor([5]).cuda())
expected = copy.deepcopy(model)(*inputs)
compiled = torch_tensorrt.dynamo.compile(
    torch.export.export(model, inputs),
    arg_inputs=inputs,
    min_block_size=1,
    torch_executed_ops={"torch.ops.aten.relu.default"},
)
print("compile: no error")
try:
    returned = compiled(*inputs)
except IndexError as error:
    print("the compiled module, called:", error)
    sys.exit(1)

returned = returned[0] if isinstance(returned, tuple) else returned
right = torch.allclose(returned, expected)
print("the compiled module is right:", right)
sys.exit(0 if right else 1)
