"""A U-Net that gives back a mask of its input's size, whatever that is."""

import torch
import torch.nn.functional as F
from torch import nn


class DoubleConv(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(
            nn.Conv2d(cin, cout, 3, padding=1, bias=False),
            nn.BatchNorm2d(cout),
            nn.ReLU(inplace=True),
            nn.Conv2d(cout, cout, 3, padding=1, bias=False),
            nn.BatchNorm2d(cout),
            nn.ReLU(inplace=True),
        )


class UNet(nn.Module):
    def __init__(self, channels=3, classes=2, width=8):
        super().__init__()
        self.inc = DoubleConv(channels, width)
        self.down1 = DoubleConv(width, 2 * width)
        self.down2 = DoubleConv(2 * width, 4 * width)
        self.up1 = DoubleConv(6 * width, 2 * width)
        self.up2 = DoubleConv(3 * width, width)
        self.outc = nn.Conv2d(width, classes, 1)

    def forward(self, image):
        x1 = self.inc(image)
        x2 = self.down1(F.max_pool2d(x1, 2))
        x3 = self.down2(F.max_pool2d(x2, 2))
        y = F.interpolate(x3, size=x2.shape[-2:], mode="bilinear", align_corners=False)
        y = self.up1(torch.cat([x2, y], dim=1))
        y = F.interpolate(y, size=x1.shape[-2:], mode="bilinear", align_corners=False)
        logits = self.outc(self.up2(torch.cat([x1, y], dim=1)))
        return F.interpolate(logits, size=image.shape[-2:], mode="nearest")


def unet():
    return UNet().eval()


def example():
    return (torch.rand(1, 3, 32, 48),)
