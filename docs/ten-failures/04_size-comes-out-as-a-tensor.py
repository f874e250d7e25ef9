"""A model that cuts its input in half is right when compiled, and `save` raises.

The half of the size is computed in a TensorRT engine. The release marks such a number as an int64
output of the engine, at torch_tensorrt/dynamo/utils.py:970 (function `get_output_dtypes`), and
what comes out is a tensor, which `TorchTensorRTModule.forward` returns as it is, at
torch_tensorrt/dynamo/runtime/_TorchTensorRTModule.py:762. A slice in PyTorch wants a number
there, and torch.export refuses the tensor. The defect's id is size-comes-out-as-a-tensor.
"""

import sys
import tempfile
from pathlib import Path

import torch
import torch_tensorrt


class FirstHalf(torch.nn.Module):
    def forward(self, x):
        half = x.shape[0] // 2
        return (x * 2 - 1).narrow(0, 0, half) + half


model = FirstHalf().eval().cuda()
x = torch.randn(6, 8).cuda()
expected = model(x)
shapes = ({0: 2 * torch.export.Dim("pairs", min=2, max=8)},)
compiled = torch_tensorrt.dynamo.compile(
    torch.export.export(model, (x,), dynamic_shapes=shapes),
    arg_inputs=[torch_tensorrt.Input(min_shape=(4, 8), opt_shape=(6, 8), max_shape=(16, 8))],
    min_block_size=1,
    torch_executed_ops={"torch.ops.aten.narrow.default", "torch.ops.aten.slice.Tensor"},
)
print("the compiled module is right:", torch.allclose(compiled(x), expected))

with tempfile.TemporaryDirectory() as folder:
    file = str(Path(folder, "model.pt2"))
    try:
        torch_tensorrt.save(
            compiled,
            file,
            arg_inputs=[x],
            dynamic_shapes=shapes,
            retrace=False,
            use_legacy_exporter=False,
        )
    except RuntimeError as error:
        print("save:", str(error).partition("\n")[0])
        sys.exit(1)
    loaded = torch_tensorrt.load(file).module()

right = torch.allclose(loaded(x), expected)
print("the loaded program is right:", right)
sys.exit(0 if right else 1)
