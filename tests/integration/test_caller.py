"""The MPI and HDF5 wrappers call the function their caller would have got without them.

Stand-in libraries that differ in what they return make each binding visible. Every case runs
without and with the preloaded library, and must print the same.
"""

import os
import subprocess
from pathlib import Path

import pytest

import iez_client

SHIM = Path(iez_client.__file__).parent / "libiez_shim.so"
PROGRAMS = Path(__file__).parent / "programs"


def compile_c(source: str, target: Path, *options: str) -> None:
    compiler = os.environ.get("CC", "cc").split()
    command = [*compiler, "-O1", "-Wall", str(PROGRAMS / source), "-o", str(target), *options]
    subprocess.run(command, check=True, cwd=target.parent)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two HDF5 libraries, a user of each, a tool, and programs linked to one or none of them."""
    folder = tmp_path_factory.mktemp("caller")
    shared = ("-shared", "-fPIC")
    here = "-Wl,-rpath,$ORIGIN"
    for letter, number in (("a", 100), ("b", 200)):
        compile_c("caller_library.c", folder / f"lib{letter}.so", *shared, f"-DID={number}")
        for binding in ("lazy", "now"):
            user = folder / f"user_{letter}_{binding}.so"
            options = (f"-Wl,-z,{binding}", f"./lib{letter}.so", here)
            compile_c("caller_user.c", user, *shared, *options)
    compile_c("caller_tool.c", folder / "tool.so", *shared)
    compile_c("caller_main.c", folder / "main", "-rdynamic", "-pthread")
    with_user = (str(PROGRAMS / "caller_user.c"), "./liba.so", here, "-pthread")
    compile_c("caller_main.c", folder / "main_linked_to_a", *with_user)
    return folder


def output(folder: Path, command: str, preload: list[str]) -> str:
    env = {**os.environ, "LD_PRELOAD": ":".join(preload)}
    run = subprocess.run(command.split(), cwd=folder, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


CASES = {
    "a_program_linked_to_it": "./main_linked_to_a self: self:",
    "two_extensions_with_their_own_libraries": (
        "./main local:./user_a_lazy.so local:./user_b_lazy.so create:./user_a_lazy.so "
        "create:./user_b_lazy.so create:./user_a_lazy.so threads:./user_b_lazy.so"
    ),
    "two_extensions_bound_at_once": (
        "./main local:./user_b_now.so local:./user_a_now.so create:./user_a_now.so "
        "create:./user_b_now.so threads:./user_a_now.so"
    ),
    "an_extension_in_a_program_that_has_another_library": (
        "./main_linked_to_a local:./user_b_now.so id:./user_b_now.so create:./user_b_now.so self:"
    ),
    "a_lazy_extension_in_a_program_that_has_another_library": (
        "./main_linked_to_a local:./user_b_lazy.so id:./user_b_lazy.so create:./user_b_lazy.so"
    ),
    "a_library_made_global_after_the_binding": (
        "./main local:./user_b_now.so id:./user_b_now.so global:./liba.so create:./user_b_now.so"
    ),
    "a_lazy_caller_after_a_library_was_made_global": (
        "./main global:./liba.so local:./user_b_lazy.so id:./user_b_lazy.so create:./user_b_lazy.so"
    ),
    "a_relative_path_after_a_change_of_directory": (
        "./main local:./user_a_now.so cd:/ create:./user_a_now.so"
    ),
    "another_library_at_the_place_of_an_unloaded_one": (
        "./main local:./user_a_lazy.so create:./user_a_lazy.so close:./user_a_lazy.so "
        "local:./user_b_lazy.so create:./user_b_lazy.so close:./user_b_lazy.so "
        "local:./user_a_lazy.so create:./user_a_lazy.so"
    ),
}


@pytest.mark.parametrize("command", CASES.values(), ids=CASES.keys())
def test_the_caller_gets_its_own_function(built: Path, command: str) -> None:
    plain = output(built, command, [])
    assert "-2" not in plain
    assert output(built, command, [str(SHIM)]) == plain


@pytest.mark.parametrize("first", ["tool", "shim"])
def test_another_preloaded_tool_still_sees_the_call(built: Path, first: str) -> None:
    command = "./main_linked_to_a self: local:./user_b_now.so create:./user_b_now.so"
    tool = str(built / "tool.so")
    preload = [tool, str(SHIM)] if first == "tool" else [str(SHIM), tool]
    plain = output(built, command, [tool])
    assert "self 1100" in plain
    assert output(built, command, preload) == plain


def test_a_tool_that_calls_on_without_a_global_library_ends_in_the_callers(built: Path) -> None:
    command = "./main local:./user_b_now.so create:./user_b_now.so"
    preload = [str(built / "tool.so"), str(SHIM)]
    assert "create 1200" in output(built, command, preload)
