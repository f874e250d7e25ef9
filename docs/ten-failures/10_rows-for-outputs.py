"""With the global partitioner, `save(retrace=False)` raises for a model that runs well.

The number of an engine's outputs is taken for `len(meta["val"])`, at
torch_tensorrt/dynamo/_exporter.py:907 (function `inline_trt_modules`). The global partitioner
leaves a bare tensor there, which `compile_module` does not replace by a list
(torch_tensorrt/dynamo/_compiler.py:1454), and the length of a tensor is its number of rows. With
two rows one output is taken for two, and the engine's list stands where its tensor should be. The
defect's id is rows-for-outputs.
"""

import sys
import tempfile
from pathlib import Path

import torch
import torch_tensorrt


class Halves(torch.nn.Module):
    def forward(self, x):
        left, right = (x + 1).chunk(2, dim=-1)
        return torch.relu(left) * 2 + torch.relu(right)


model = Halves().eval().cuda()
x = torch.randn(2, 8).cuda()
expected = model(x)
compiled = torch_tensorrt.dynamo.compile(
    torch.export.export(model, (x,)),
    arg_inputs=[x],
    min_block_size=1,
    torch_executed_ops={"torch.ops.aten.relu.default"},
    use_fast_partitioner=False,
)
print("the compiled module is right:", torch.allclose(compiled(x), expected))

with tempfile.TemporaryDirectory() as folder:
    file = str(Path(folder, "model.pt2"))
    try:
        torch_tensorrt.save(compiled, file, arg_inputs=[x], retrace=False)
    except Exception as error:  # torch's SerializeError has no public name
        if type(error).__name__ != "SerializeError":
            raise
        print("save:", str(error).partition("\n")[0])
        sys.exit(1)
    loaded = torch_tensorrt.load(file).module()

right = torch.allclose(loaded(x), expected)
print("the loaded program is right:", right)
sys.exit(0 if right else 1)
