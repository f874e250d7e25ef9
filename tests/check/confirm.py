"""What becomes of users' models in one release, by their own calls of its package alone.

    python tests/check/confirm.py 2.14.0 ranker detector     # models of models/models.toml
    python tests/check/confirm.py installed                  # with a GPU: the package as installed

One process compiles and saves, and another one, which has never seen the model, loads the file and
runs it. `torch.testing.assert_close` holds what comes back against eager. Of the harness only that
is used which stands in for CUDA and TensorRT. CSV is printed: model, release, call, came, said.
"""

import csv
import logging
import multiprocessing
import os
import sys
import tempfile
import warnings
from pathlib import Path

import torch
from torch.utils._pytree import tree_flatten

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
from users import ROWS, User, resized  # noqa: E402

SHAPES = {"dynamic_shapes": "those of the model"}
CALLS = {
    "compile()": None,
    "save(m, f)": {},
    "save(retrace=False)": {"retrace": False},
    "save(retrace=False, use_legacy_exporter=False)": SHAPES
    | {"retrace": False, "use_legacy_exporter": False},
}
STATE_CALLS = {"save(torch.export.export(m), f)": SHAPES | {"exported": True}}
DYNAMIC_CALLS = {
    "save(retrace=False), without inputs": {"retrace": False, "arg_inputs": None},
    "save(dynamic_shapes=…)": SHAPES,
    "save(dynamic_shapes=…, use_legacy_exporter=True)": SHAPES | {"use_legacy_exporter": True},
}


def compiled(package, user):
    def described(x, sizes):
        low, high = (tuple(resized(x, sizes, end).shape) for end in ("min", "max"))
        ranges = {"min_shape": low, "opt_shape": tuple(x.shape), "max_shape": high}
        return package.Input(**ranges, dtype=x.dtype) if sizes else x

    args, kwargs = user.example()
    program = torch.export.export(user.model, args, kwargs, dynamic_shapes=user.shapes)
    args, kwargs = user.example(described)
    return package.dynamo.compile(program, arg_inputs=args, kwarg_inputs=kwargs, **user.settings)


def save(package, user, file, call):
    args, kwargs = user.example()
    given = {"arg_inputs": args, "kwarg_inputs": kwargs, **call}
    if given["arg_inputs"] is None:
        given["kwarg_inputs"] = None
    if "dynamic_shapes" in given:
        given["dynamic_shapes"] = user.shapes
    module = compiled(package, user)
    if given.pop("exported", False):
        shapes = given["dynamic_shapes"]
        package.save(torch.export.export(module, tuple(args), kwargs, dynamic_shapes=shapes), file)
    else:
        package.save(module, file, **given)


def calls_of(name):
    """The calls that are asked of a model, by its sizes and by whether it has state."""
    model, (args, kwargs) = User(name).model, User(name).example()
    before = [buffer.clone() for buffer in model.buffers()]
    model(*args, **kwargs)
    state = not all(map(torch.equal, before, model.buffers()))
    sizes = "dynamic" in ROWS[name]
    return {**CALLS, **(DYNAMIC_CALLS if sizes else {}), **(STATE_CALLS if state else {})}


def returned(module, calls):
    """Of each call its tensors, copied since a later call may write to them, and their packing."""
    packed = (tree_flatten(module(*args, **kwargs)) for args, kwargs in calls)
    return [([x.clone() for x in leaves if x is not None], str(spec)) for leaves, spec in packed]


def judged(found, expected):
    for number, (each, right) in enumerate(zip(found, expected, strict=True), start=1):
        try:
            torch.testing.assert_close(each[0], right[0], rtol=1e-3, atol=1e-4, equal_nan=True)
        except AssertionError as error:
            return "wrong numbers", f"call {number}: {said(error)}"
    return "right", "" if found[0][1] == expected[0][1] else f"packed as {found[0][1]}"


def said(error):
    return " ".join(str(error).split("\nGreatest")[0].split())[:160] or "(no message)"


def compile_or_save(package, name, file, call):
    """What came of the module in memory, or nothing and a file, beside it what eager returns."""
    calls, expected = [*User(name).calls()], returned(User(name).model, User(name).calls())
    if call is None:
        return judged(returned(compiled(package, User(name)), calls), expected)
    save(package, User(name), file, call)
    return torch.save((calls, expected), f"{file}.expected")


def load(package, file):
    calls, expected = torch.load(f"{file}.expected")
    try:
        program = package.load(file)
    except ValueError:  # it says of every file that it is no valid program
        program = torch.export.load(file)
    return judged(returned(program.module(), calls), expected)


def came_of(function, *given):
    """What a function returns or raises in a process of its own, where the package is opened."""
    ours, theirs = multiprocessing.Pipe()
    if (child := os.fork()) == 0:
        try:
            theirs.send(function(*given))
        except Exception as error:  # noqa: BLE001 - the package's, and so what came of the call
            theirs.send(("error", f"{type(error).__name__}: {said(error)}"))
        os._exit(0)
    theirs.close()
    _, status = os.waitpid(child, 0)
    return ours.recv() if ours.poll() else ("error", f"the process ended with {status}")


def open_release(release):
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    if release == "installed":
        import torch_tensorrt

        return torch_tensorrt
    from harness.catalogue.releases import load_catalogue
    from harness.cli.common import toolchain_for
    from harness.rig.package.opening import open_package

    site = toolchain_for().package_site(load_catalogue().get(release))
    return open_package({"site": str(site.folder), "release": release, "builder": site.builder})


def main(release, *names):
    """A row for each model and call of a release; all models without names."""
    package, write = open_release(release), csv.writer(sys.stdout, lineterminator="\n").writerow
    for name in names or ROWS:
        for call, given in calls_of(name).items():
            with tempfile.TemporaryDirectory() as folder:
                file = f"{folder}/model.pt2"
                came = came_of(compile_or_save, package, name, file, given)
                came = came or came_of(load, package, file)
            write([name, release, call, *came])
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
