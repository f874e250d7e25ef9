"""A model that was compiled for one to eight rows accepts only four rows after `save` and `load`.

`save` was given four rows and no `dynamic_shapes`. It warns, and then exports the compiled module
with the sizes of that example, at torch_tensorrt/_compile.py:1294 (function `save`), although the
module still has the symbols of its sizes. The loaded program raises for any other number of rows.
The register calls this by design for that warning, though the documentation of `retrace=True`
(line 718) says that the symbols are kept. The defect's id is specialised.
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
four, six = torch.randn(4, 8).cuda(), torch.randn(6, 8).cuda()
shapes = ({0: torch.export.Dim("batch", min=1, max=8)},)
compiled = torch_tensorrt.dynamo.compile(
    torch.export.export(model, (four,), dynamic_shapes=shapes),
    arg_inputs=[torch_tensorrt.Input(min_shape=(1, 8), opt_shape=(4, 8), max_shape=(8, 8))],
    min_block_size=1,
    torch_executed_ops={"torch.ops.aten.relu.default", "torch.ops.aten.sym_size.int"},
)
print("the compiled module is right for six rows:", torch.allclose(compiled(six), model(six)))

with tempfile.TemporaryDirectory() as folder:
    file = str(Path(folder, "model.pt2"))
    torch_tensorrt.save(compiled, file, arg_inputs=[four])
    loaded = torch_tensorrt.load(file).module()

print("the loaded program is right for four rows:", torch.allclose(loaded(four), model(four)))
try:
    returned = loaded(six)
except AssertionError as error:
    print("the loaded program, called with six rows:", error)
    sys.exit(1)

right = torch.allclose(returned, model(six))
print("the loaded program is right for six rows:", right)
sys.exit(0 if right else 1)
