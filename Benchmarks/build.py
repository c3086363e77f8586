#!/usr/bin/env python3
"""Builds the program in a new folder, and prints how long each module took and the longest chain of modules.

The sources of packages are fetched before the time begins. A module takes the processor time of its compiler, which
hardly depends on what is compiled beside it. A chain is modules that import each other: no number of cores makes the
build faster than the longest one. What else is built in C is not in it.
"""

import argparse
import collections
import functools
import json
import pathlib
import re
import subprocess
import tempfile
import time

from measure import say

# The file of statistics of a compiler's run: its module is the first word.
STATISTICS = re.compile(r"stats-\d+-swift-frontend-(\w+)-")
MODULE = re.compile(r'^  "C\.[^"]*\.module":\n(?:    .*\n)*?    inputs: (\[.*\])\n    outputs: (\[.*\])\n', re.MULTILINE)


def swift_build(folder, *options):
    command = ["swift", "build", "--scratch-path", folder, *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def seconds_of_modules(folder):
    """Returns the processor time that the compilers of each module took, by their statistics."""
    seconds = collections.Counter()
    for file in folder.iterdir():
        if match := STATISTICS.match(file.name):
            for name, value in json.loads(file.read_text()).items():
                if name.startswith("time.swift-frontend.") and name.endswith((".user", ".sys")):
                    seconds[match[1]] += value
    return seconds


def imports_of_modules(plan):
    """Returns the modules that each module imports, by the plan that SwiftPM wrote."""
    def modules(paths):
        return {pathlib.Path(path).stem for path in json.loads(paths) if path.endswith(".swiftmodule")}

    return {name: modules(inputs) for inputs, outputs in MODULE.findall(plan) for name in modules(outputs)}


def longest_chain(seconds, imports):
    """Returns the modules of the longest chain, the first to be built first."""
    @functools.cache
    def chain(module):
        longest = max((chain(other) for other in imports.get(module, ())), default=(0.0, ()))
        return longest[0] + seconds[module], (*longest[1], module)

    return max(chain(module) for module in imports)[1]


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench build", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", action="store_true", help="build the tests, as CI does, instead of the program")
    parser.add_argument("--modules", type=int, default=15, metavar="N", help="print the N modules that took longest")
    parser.add_argument("options", nargs="*", help="options of `swift build`, after `--`")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waymark-build.", dir=".build") as name:
        folder, statistics = pathlib.Path(name), pathlib.Path(name).resolve() / "statistics"
        statistics.mkdir()
        subprocess.run(["swift", "package", "--scratch-path", folder, "resolve"], check=True, stdout=subprocess.DEVNULL)
        what = ["--build-tests"] if options.tests else ["--product", "waymark"]
        say("Building")
        start = time.monotonic()
        swift_build(
            folder, *what, *options.options, "-Xswiftc", "-stats-output-dir", "-Xswiftc", str(statistics))
        took = time.monotonic() - start
        seconds = seconds_of_modules(statistics)
        plan = next(folder.glob("debug.yaml" if options.tests else "release.yaml")).read_text()
        chain = longest_chain(seconds, imports_of_modules(plan))
        print(f"build: {took:,.0f} s; modules in Swift: {seconds.total():,.0f} s of processor time")
        print(f"longest chain: {sum(seconds[module] for module in chain):,.0f} s")
        for module in chain:
            print(f"{seconds[module]:9,.1f} s  {module}")
        print("modules that took longest:")
        for module, count in seconds.most_common(options.modules):
            print(f"{count:9,.1f} s  {module}")


if __name__ == "__main__":
    main()
