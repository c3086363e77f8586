#!/usr/bin/env python3
"""Writes the manual pages of a program of Swift's ArgumentParser, from what it says of itself.

    manual.py PROGRAM FOLDER      # FOLDER/waymark.1, and FOLDER/waymark-serve.1 and so on for its commands
"""

import json
import pathlib
import re
import subprocess
import sys
import textwrap


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    run = lambda *arguments: subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout
    command = json.loads(run("--experimental-dump-help"))["command"]
    version = run("--version").strip()
    folder.mkdir(parents=True, exist_ok=True)
    for path, each in commands(command):
        page = "\n".join(lines(path, each, version)) + "\n"
        (folder / f"{'-'.join(path)}.1").write_text(page)


def commands(command, path=()):
    """The command and those below it, each with the names that lead to it."""
    path = (*path, command["commandName"])
    yield path, command
    for each in command.get("subcommands", []):
        if each["commandName"] != "help" and each.get("shouldDisplay", True):
            yield from commands(each, path)


def lines(path, command, version):
    name = "-".join(path)
    arguments = [each for each in command.get("arguments", []) if each.get("shouldDisplay", True)]
    yield f'.TH {quoted(name.upper())} 1 "" {quoted(f"waymark {version}")} "Waymark"'
    yield ".SH NAME"
    yield f"{text(name)} \\- {text(command.get('abstract', ''))}"
    yield ".SH SYNOPSIS"
    yield f".B {text(' '.join(path))}"
    below = [each for each in command.get("subcommands", []) if each["commandName"] != "help"]
    if below:
        yield ".I command"
    if any(each["kind"] != "positional" for each in arguments):
        yield "[\\fIoptions\\fR]"
    for each in arguments:
        if each["kind"] == "positional":
            place = f"\\fI{text(each['valueName'])}\\fR" + (" ..." if each["isRepeating"] else "")
            yield f"[{place}]" if each["isOptional"] else place
    if command.get("discussion"):
        yield ".SH DESCRIPTION"
        yield from paragraphs(command["discussion"])
    if below:
        yield ".SH COMMANDS"
        for each in below:
            yield ".TP"
            yield f".BR {text('-'.join([*path, each['commandName']]))} (1)"
            yield text(each.get("abstract", ""))
    if arguments:
        yield ".SH OPTIONS"
        for each in arguments:
            yield ".TP"
            yield " ".join(["\\fB" + text(", ".join(spelled(each))) + "\\fR"] + value(each))
            yield text(described(each))
    if path[-1] == "serve":
        yield ".SH FILES"
        for file, meaning in (
            ("/etc/waymark/waymark.env", "Settings of the system service, where the Debian package is installed."),
            ("/usr/share/waymark/Migrations", "The migrations that the schema is made with."),
            ("/var/lib/waymark", "The folder that the system service may write to."),
        ):
            yield from (".TP", f".I {text(file)}", text(meaning))
    yield ".SH SEE ALSO"
    others = [path[:-1]] if len(path) > 1 else [(*path, each["commandName"]) for each in below]
    yield ",\n".join(f".BR {text('-'.join(each))} (1)" for each in others)


def spelled(argument):
    dashes = {"short": "-", "long": "--", "longWithSingleDash": "-"}
    names = [dashes[each["kind"]] + each["name"] for each in argument.get("names") or []]
    return names or [argument["valueName"]]


def value(argument):
    return [f"\\fI{text(argument['valueName'])}\\fR"] if argument["kind"] == "option" else []


def described(argument):
    parts = [argument.get("abstract", "")]
    if argument.get("discussion"):
        parts.append(argument["discussion"])
    if argument.get("defaultValue") is not None:
        parts.append(f"(default: {argument['defaultValue']})")
    return " ".join(part.strip() for part in parts if part)


def paragraphs(discussion):
    """Text is filled; lines that are indented, which are examples, stay as they are."""
    for block in re.split(r"\n\s*\n", textwrap.dedent(discussion)):
        yield ".PP"
        isExample = False
        for line in block.split("\n"):
            if line.startswith(" ") != isExample:
                isExample = not isExample
                yield ".nf" if isExample else ".fi"
            yield text(line)
        if isExample:
            yield ".fi"


def text(value):
    """Escapes what roff would take for its own."""
    escaped = value.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\\&" + escaped if escaped.startswith(".") else escaped


def quoted(value):
    return '"' + text(value).replace('"', '""') + '"'


if __name__ == "__main__":
    main()
