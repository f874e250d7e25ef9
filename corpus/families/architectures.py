"""Real architectures at small size, with random weights: convolutional ones.

No split here lets a number or a tuple cross into or out of an engine, since TensorRT's take and
return tensors. So an op with several outputs falls back together with the getitems that read them,
and what is reshaped by the batch size is on one side of the fallbacks.
"""

from __future__ import annotations

from torch import nn

from corpus.case import Family, Program, case
from corpus.families.dynamic_shapes import BOUNDS, batch
from corpus.inputs import DYNAMIC, floats
from corpus.models.convolutional import Detector, MobileNet, ResNet, UNet

RELU = "aten.relu.default"
SIGMOID = "aten.sigmoid.default"
SPLIT = "aten.split.Tensor"
TOPK = "aten.topk.default"
GETITEM = "_operator.getitem"


def dynamic(model: nn.Module, *shapes: tuple[int, ...]) -> Program:
    """A model of float inputs whose first dimension is one dynamic batch."""
    shapes_of_batch = batch(len(shapes))
    inputs = floats(*((DYNAMIC, *shape) for shape in shapes))
    return Program(inputs, model=model, dynamic_shapes=shapes_of_batch, bounds=BOUNDS)


@case(
    Family.ARCHITECTURES,
    catches="a ResNet whose relus fall back: shortcuts read one engine's output twice",
    fallback=[RELU],
    wiring=True,
)
def resnet_relu() -> Program:
    return Program(floats((2, 3, 16, 16)), model=ResNet())


@case(
    Family.ARCHITECTURES,
    catches="a ResNet whose batch norms fall back, weights and buffers with them",
    fallback=["aten.batch_norm.default", "aten._native_batch_norm_legit_no_training.default"],
    full=True,
)
def resnet_batch_norm() -> Program:
    return Program(floats((2, 3, 16, 16)), model=ResNet())


@case(
    Family.ARCHITECTURES,
    catches="a ResNet with a dynamic batch whose relus fall back with the sums before them",
    fallback=[RELU, "aten.add.Tensor"],
    wiring=True,
    dynamic=True,
)
def resnet_add_dynamic() -> Program:
    return dynamic(ResNet(), (3, 8, 8))


@case(
    Family.ARCHITECTURES,
    catches="a MobileNetV2 whose relu6 falls back between pointwise and depthwise convolutions",
    fallback=["aten.hardtanh.default", "aten.clamp.default"],
    wiring=True,
)
def mobilenet_relu6() -> Program:
    return Program(floats((2, 3, 8, 8)), model=MobileNet(nn.ReLU6))


@case(
    Family.ARCHITECTURES,
    catches="a MobileNetV2 whose convolutions all fall back: a weight in every fallback",
    fallback=["aten.conv2d.default", "aten.convolution.default"],
    full=True,
)
def mobilenet_conv2d() -> Program:
    return Program(floats((2, 3, 8, 8)), model=MobileNet(nn.ReLU6))


@case(
    Family.ARCHITECTURES,
    catches="a MobileNetV3 with a dynamic batch whose gates and activations fall back",
    fallback=["aten.hardswish.default", "aten.hardsigmoid.default"],
    wiring=True,
    dynamic=True,
)
def mobilenet_hardswish_dynamic() -> Program:
    return dynamic(MobileNet(nn.Hardswish), (3, 8, 8))


@case(
    Family.ARCHITECTURES,
    catches="a U-Net whose concatenations fall back, each reading two engines far apart",
    fallback=["aten.cat.default"],
    wiring=True,
)
def unet_cat() -> Program:
    return Program(floats((2, 1, 8, 8)), model=UNet())


@case(
    Family.ARCHITECTURES,
    catches="a U-Net whose pooling and upsampling fall back, with weights, around the skips",
    fallback=["aten.max_pool2d.default", "aten.conv_transpose2d.input"],
    full=True,
)
def unet_resampling() -> Program:
    return Program(floats((2, 1, 8, 8)), model=UNet())


@case(
    Family.ARCHITECTURES,
    catches="a U-Net with a dynamic batch whose relus fall back, two of them read across the net",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def unet_relu_dynamic() -> Program:
    return dynamic(UNet(), (1, 8, 8))


@case(
    Family.ARCHITECTURES,
    catches="a detector whose split, max and topk fall back with two outputs each; nested outputs",
    fallback=[TOPK, SPLIT, "aten.max.dim", GETITEM],
    wiring=True,
    full=True,
)
def detector_topk() -> Program:
    return Program(floats((2, 3, 8, 8)), model=Detector())


@case(
    Family.ARCHITECTURES,
    catches="a detector whose gathers fall back: one index read by two of them beside two values",
    fallback=["aten.gather.default"],
    wiring=True,
)
def detector_gather() -> Program:
    return Program(floats((2, 3, 8, 8)), model=Detector())


@case(
    Family.ARCHITECTURES,
    catches="a detector with a dynamic batch: one tower's relus on two levels, nested outputs",
    fallback=[RELU, SIGMOID, "aten.exp.default"],
    wiring=True,
    dynamic=True,
)
def detector_sigmoid_dynamic() -> Program:
    return dynamic(Detector(), (3, 8, 8))
