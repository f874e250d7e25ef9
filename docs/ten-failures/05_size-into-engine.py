"""A model that adds its number of rows is right when compiled, and `save` raises.

The number goes into a TensorRT engine. The compiled module makes a tensor of it first
(`TorchTensorRTModule.forward`, torch_tensorrt/dynamo/runtime/_TorchTensorRTModule.py:744). For
`save` the engine is called without that module, with the number itself, at
torch_tensorrt/dynamo/_exporter.py:925 (function `inline_trt_modules`), and the engine's meta
kernel asks it for a shape (dynamo/runtime/meta_ops/register_meta_ops.py:59). The defect's id is
size-into-engine.
"""

import sys
import tempfile
from pathlib import Path

import torch
import torch_tensorrt


class PlusRows(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x * 2 + x.shape[0]) * 3


model = PlusRows().eval().cuda()
x = torch.randn(4, 8).cuda()
expected = model(x)
shapes = ({0: torch.export.Dim("batch", min=1, max=8)},)
compiled = torch_tensorrt.dynamo.compile(
    torch.export.export(model, (x,), dynamic_shapes=shapes),
    arg_inputs=[torch_tensorrt.Input(min_shape=(1, 8), opt_shape=(4, 8), max_shape=(8, 8))],
    min_block_size=1,
    torch_executed_ops={"torch.ops.aten.relu.default", "torch.ops.aten.sym_size.int"},
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
    except AttributeError as error:
        print("save:", error)
        sys.exit(1)
    loaded = torch_tensorrt.load(file).module()

right = torch.allclose(loaded(x), expected)
print("the loaded program is right:", right)
sys.exit(0 if right else 1)
