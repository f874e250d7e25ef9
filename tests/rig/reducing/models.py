"""A deep model with one bad place, as a user's own corpus declares it."""

DEEP = '''
import torch
from corpus.case import Family, Inputs, Program, case
from corpus.inputs import floats


class Deep(torch.nn.Module):
    """Five ops a layer; between two of them one that only writes to a buffer."""

    def __init__(self, layers):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(16, 16) for _ in range(layers)])
        self.register_buffer("seen", torch.zeros(16))

    def forward(self, x):
        for at, layer in enumerate(self.layers):
            y = torch.tanh(torch.cos(layer(x)))
            if at == len(self.layers) // 2:
                self.seen.add_(y[0])
            x = x + y * 0.5
        return x


class Collides(torch.nn.Module):
    """A deep model in the middle of which a fallback reads a namesake of what it should."""

    def __init__(self, layers):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(16, 16) for _ in range(layers)])

    def forward(self, x):
        for at, layer in enumerate(self.layers):
            y = torch.tanh(layer(x))
            if at == len(self.layers) // 2:
                y = torch.relu(y + 1) - torch.relu(y * 2)
                y = torch.relu(torch.cat([y, y * 3], dim=-1).chunk(2, dim=-1)[0]) + 5
            x = x + torch.cos(y) * 0.5
        return x


class Packed(torch.nn.Module):
    """Called with containers and keywords, of a size that varies; returns a dictionary."""

    def forward(self, given, scale, *, extra):
        a, b = given["a"], given["b"]
        return {"left": torch.relu(a * scale) + b, "right": [extra["more"][0] - 1, b.sum()]}


def packed(generator, size):
    def drawn():
        return torch.randn(size or 4, 8, generator=generator)

    return Inputs((dict(a=drawn(), b=drawn()), 2.0), dict(extra=dict(more=[drawn()])))


WRITES = ["aten.add_.Tensor"]
RELU = ["aten.relu.default"]
BATCH = torch.export.Dim("batch", min=2, max=8)
ROWS = {0: BATCH}


@case(Family.CACHES, catches="an op that only writes, in 200 others", fallback=WRITES)
def deep_effect():
    return Program(floats((4, 16)), model=Deep(40))


@case(Family.CACHES, catches="an op that only writes, in 20 others", fallback=WRITES)
def small_effect():
    return Program(floats((4, 16)), model=Deep(4))


@case(Family.CACHES, catches="an op that only writes, in 10 others", fallback=WRITES)
def tiny_effect():
    return Program(floats((4, 16)), model=Deep(2))


@case(Family.NAME_COLLISIONS, catches="a namesake, in 200 ops", fallback=RELU)
def deep_collision():
    return Program(floats((4, 16)), model=Collides(40))


class Halves(torch.nn.Module):
    """What it doubles it halves again."""

    def forward(self, x):
        return torch.cat([x, x * 3], dim=-1).chunk(2, dim=-1)[0]


@case(Family.MULTI_OUTPUT_ENGINES, catches="nothing")
def halves():
    return Program(floats((4, 16)), model=Halves())


class Best(torch.nn.Module):
    def forward(self, x):
        return torch.topk(torch.tanh(x) + 1, 3)


@case(Family.INTERFACES, catches="nothing")
def returns_a_named_tuple():
    return Program(floats((4, 16)), model=Best())


@case(Family.INTERFACES, catches="nothing")
def has_a_hook():
    return Program(floats((4, 16)), model=Best(), after_compile=lambda module: module)


@case(Family.DYNAMIC_SHAPES, catches="nothing", dynamic=True)
def dynamic_call():
    def inputs(generator, size):
        return Inputs((torch.randn(size or 4, 16, generator=generator),))

    return Program(inputs, model=Deep(2), dynamic_shapes=(ROWS,), bounds=(2, 8))


@case(Family.INTERFACES, catches="nothing", fallback=RELU, dynamic=True)
def packed_call():
    return Program(
        packed,
        model=Packed(),
        dynamic_shapes={"given": {"a": ROWS, "b": ROWS}, "scale": None, "extra": {"more": [ROWS]}},
        bounds=(2, 8),
    )
'''
