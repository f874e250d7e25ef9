"""`save(arg_inputs=...)` refuses a dictionary that `torch_tensorrt.dynamo.compile` took.

The compiled module takes the dictionary and is right. The first check in `save` wants every
positional input to be a tensor or an `Input`, at torch_tensorrt/_compile.py:823 (function `save`),
and looks into no container. What follows that check does look into them (`_extract_tensor`, line
953). The defect's id is save-refuses-containers.
"""

import sys
import tempfile
from pathlib import Path

import torch
import torch_tensorrt


class Scores(torch.nn.Module):
    def forward(self, batch):
        y = torch.relu(batch["query"] * 2 - batch["key"])
        return {"scores": y + batch["answer"], "logits": y * batch["key"]}


model = Scores().eval().cuda()
batch = {name: torch.randn(2, 8).cuda() for name in ("query", "answer", "key")}
expected = model(batch)
compiled = torch_tensorrt.dynamo.compile(
    torch.export.export(model, (batch,)),
    arg_inputs=(batch,),
    min_block_size=1,
    torch_executed_ops={"torch.ops.aten.relu.default"},
)


def is_right(module):
    returned = module(batch)
    return all(torch.allclose(returned[name], expected[name]) for name in expected)


print("the compiled module is right:", is_right(compiled))

with tempfile.TemporaryDirectory() as folder:
    file = str(Path(folder, "model.pt2"))
    try:
        torch_tensorrt.save(compiled, file, arg_inputs=(batch,))
    except ValueError as error:
        print("save:", error)
        sys.exit(1)
    loaded = torch_tensorrt.load(file).module()

right = is_right(loaded)
print("the loaded program is right:", right)
sys.exit(0 if right else 1)
