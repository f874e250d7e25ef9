"""Conformance of the emulated executor with the real runtime, as far as a program can tell.

Each test cites the runtime source that it holds the emulation to. `test_conformance` asks what of
it can be asked of the real library, too.
"""

import copy

import pytest
import torch
from torch.fx import GraphModule

from harness.rig.engines import emulated
from harness.rig.engines.builder import build_segment_engine
from harness.rig.engines.contract import Contract
from harness.rig.engines.emulated import engine_payload, engine_slots, make_engine, run_counts


class Transposing(torch.nn.Module):
    """Hands back a view of its input, in other strides, beside a parameter's product."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.t(), x * self.weight


def segment(dynamic: bool = False) -> GraphModule:
    shapes = ({0: torch.export.Dim("n", min=1, max=8)},) if dynamic else None
    program = torch.export.export(Transposing(), (torch.ones(3, 4),), dynamic_shapes=shapes)
    return program.module(check_guards=False)


def doubling() -> GraphModule:
    """Another segment of the same inputs and outputs."""

    class Doubling(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x.t() * 2, x * 2

    program = torch.export.export(Doubling(), (torch.randn(3, 4),))
    return program.module(check_guards=False)


@pytest.fixture(scope="module")
def engine():
    return make_engine(build_segment_engine("_run_on_acc_0", segment()))


@pytest.fixture(scope="module")
def dynamic_engine():
    return make_engine(build_segment_engine("_run_on_acc_0", segment(dynamic=True)))


def execute(engine: torch.ScriptObject, *inputs: torch.Tensor) -> list[torch.Tensor]:
    return torch.ops.tensorrt.execute_engine(list(inputs), engine)


def test_outputs_alias_neither_inputs_nor_each_other(engine):
    # create_output_tensors: fresh memory, but for declared aliased I/O
    x = torch.randn(3, 4)
    first, second = execute(engine, x)  # the segment's first output is a view of its input
    assert len({tensor.untyped_storage().data_ptr() for tensor in (x, first, second)}) == 3


def test_an_output_said_to_lie_where_an_input_lies_is_written_there(engine):
    # create_output_tensors: outputs[pyt_idx] = aliased_input; in the slot that 2.14 added
    slots: list[str | bytes] = [*engine_slots(engine)]
    slots[emulated.ENGINE_SLOT] = engine_payload(engine)
    slots[emulated.ALIASED_SLOT] = "output1@x@kv_cache_update"
    weighted = torch.classes.tensorrt.Engine(slots)
    x = torch.randn(3, 4)
    transposed, product = execute(weighted, x)
    assert product.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    slots[emulated.ALIASED_SLOT] = "output0@x@user"
    # TORCHTRT_CHECK(aliased_input.sizes() == dims): (4, 3) lies nowhere in (3, 4)
    with pytest.raises(RuntimeError, match="does not match source input"):
        execute(torch.classes.tensorrt.Engine(slots), torch.randn(3, 4))
    assert torch.equal(transposed, x.t())


class Sized(torch.nn.Module):
    """Returns a size beside a tensor."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        return x + 1, x.shape[0] * 2


def sized_engine() -> torch.ScriptObject:
    shapes = ({0: torch.export.Dim("n", min=2, max=8)},)
    program = torch.export.export(Sized(), (torch.ones(3, 4),), dynamic_shapes=shapes)
    return make_engine(build_segment_engine("_run_on_acc_0", program.module(check_guards=False)))


def test_a_size_comes_out_as_a_tensor_of_one_element():
    # TRTInterpreter.output marks a shape tensor of shape (1,), cast to int64 (get_output_dtypes)
    engine = sized_engine()
    returned = execute(engine, torch.ones(5, 4))[1]
    assert (returned.dtype, returned.tolist()) == (torch.int64, [10])


def test_a_meta_kernel_says_of_a_size_that_it_has_no_dimension():
    # extract_symbolic_shape_expressions: "shape_exprs": [], "is_scalar": True
    with torch._subclasses.FakeTensorMode() as mode:
        fake = mode.from_tensor(torch.randn(5, 4))
        size = torch.ops.tensorrt.execute_engine([fake], sized_engine())[1]
    assert (size.shape, size.dtype) == ((), torch.int64)


class Resizing(torch.nn.Module):
    """Takes a size beside a tensor."""

    def forward(self, x: torch.Tensor, rows: int) -> torch.Tensor:
        return x.new_zeros(rows, 2) + torch.arange(rows)[:, None]


@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_size_goes_in_by_its_value_whatever_tensor_holds_it(shape):
    # setup_input_tensors: binding.is_shape_tensor, inputs[i].clone().contiguous().cpu()
    shapes = {"x": None, "rows": torch.export.Dim.DYNAMIC(min=2, max=8)}
    program = torch.export.export(Resizing(), (torch.ones(3), 4), dynamic_shapes=shapes)
    built = build_segment_engine("_run_on_acc_0", program.module(check_guards=False))
    engine = make_engine(built)
    (returned,) = execute(engine, torch.ones(3), torch.full(shape, 5))
    assert returned.shape == (5, 2)
    with pytest.raises(RuntimeError, match="input 1 is 9, outside its profile"):
        execute(engine, torch.ones(3), torch.full(shape, 9))


def test_a_double_is_a_float_where_a_release_makes_it_one():
    # TRTInterpreter.placeholder and .output: dtype.to(trt.DataType, use_default=True) is FLOAT
    class Squared(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * x

    program = torch.export.export(Squared(), (torch.ones(3, dtype=torch.float64),))
    module = program.module(check_guards=False)
    engine = make_engine(build_segment_engine("e", module, doubles_as_floats=True))
    x = torch.rand(3)
    (returned,) = execute(engine, x)
    assert returned.dtype is torch.float32
    assert torch.allclose(returned, x * x)
    with pytest.raises(RuntimeError, match="type"):
        execute(engine, x.double())


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (
            (torch.zeros(3, 4, dtype=torch.float64),),
            "type",
        ),  # "Expected input tensors to have type"
        ((torch.zeros(3, 4, dtype=torch.float16),), "type"),
        ((torch.zeros(3, 5),), "outside its profile"),  # setInputShape
        ((torch.zeros(3, 4, 1),), "dimensions"),
        ((), "expected 1 inputs"),
        ((torch.zeros(3, 4), torch.zeros(3, 4)), "expected 1 inputs"),
    ],
)
def test_inputs_it_was_not_built_for_are_refused(engine, inputs, message):
    with pytest.raises(RuntimeError, match=message):
        execute(engine, *inputs)


def test_a_copy_and_a_pickle_keep_every_slot(engine):
    # def_pickle in register_jit_hooks.cpp: the serialized slots, engine bytes in base64
    assert engine_slots(copy.deepcopy(engine)) == engine_slots(engine)


def test_a_program_of_another_abi_is_refused(engine, library):
    # TRTEngine::verify_serialization_fmt
    try:
        emulated.load_runtime(library, slots=12, abi="9")
        with pytest.raises(RuntimeError, match="incompatible Torch-TensorRT ABI"):
            copy.deepcopy(engine)
        emulated.load_runtime(library, slots=13, abi="9")
        with pytest.raises(RuntimeError, match="different Torch-TensorRT ABI version"):
            copy.deepcopy(engine)
    finally:
        emulated.load_runtime(library)


def test_saving_and_loading_a_program_keeps_the_engine(dynamic_engine, tmp_path):
    class Calls(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.engine = dynamic_engine

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.tensorrt.execute_engine([x], self.engine)[0]

    shapes = ({0: torch.export.Dim("n", min=1, max=8)},)
    program = torch.export.export(Calls(), (torch.randn(3, 4),), dynamic_shapes=shapes)
    output = next(node for node in program.graph.nodes if node.name == "getitem")
    # The meta kernel keeps the symbol: fake_tensorrt_execute_engine in register_meta_ops.py.
    assert isinstance(output.meta["val"].shape[1], torch.SymInt)
    torch.export.save(program, tmp_path / "program.pt2")
    loaded = torch.export.load(tmp_path / "program.pt2")
    (engine,) = loaded.constants.values()
    assert engine_payload(engine) == engine_payload(dynamic_engine)
    x = torch.randn(5, 4)
    assert torch.equal(loaded.module()(x), x.t())


def test_the_meta_kernel_never_opens_a_payload():
    built = build_segment_engine("_run_on_acc_0", segment())
    broken = make_engine(
        type(built)(built.name, b"not a pickle" + bytes(8), built.contract, ("x",), ("output0",))
    )
    with torch._subclasses.FakeTensorMode() as mode:
        fake = mode.from_tensor(torch.randn(3, 4))
        outputs = torch.ops.tensorrt.execute_engine([fake], broken)
    assert [tuple(output.shape) for output in outputs] == [(4, 3), (3, 4)]


def test_every_real_run_is_counted_and_no_fake_one():
    built = build_segment_engine("_run_on_acc_7", segment(), ballast_bytes=17)
    engine = make_engine(built)
    before = run_counts[built.digest]
    with torch._subclasses.FakeTensorMode() as mode:
        torch.ops.tensorrt.execute_engine([mode.from_tensor(torch.randn(3, 4))], engine)
    assert run_counts[built.digest] == before
    execute(engine, torch.randn(3, 4))
    assert run_counts[built.digest] == before + 1


def test_an_engine_that_returns_something_else_changes_the_result():
    x = torch.randn(3, 4)
    outputs = execute(make_engine(build_segment_engine("_run_on_acc_0", doubling())), x)
    assert torch.equal(outputs[1], x * 2)


def test_the_real_runtime_and_this_one_cannot_share_a_process(library, monkeypatch):
    monkeypatch.setattr(emulated, "_libraries", [])  # as if somebody else had registered the op
    with pytest.raises(RuntimeError, match="has the real"):
        emulated.load_runtime(library)


def test_a_contract_survives_its_text_form():
    contract = build_segment_engine("_run_on_acc_0", segment(dynamic=True)).contract
    assert Contract.decode(contract.encode()) == contract


def test_an_export_warns_of_nothing_that_a_fake_engine_lacks(caplog, prepared):
    case = prepared("relu_once")
    torch.export.export(case.split, case.captured.example.args)
    assert "doesn't implement" not in caplog.text
