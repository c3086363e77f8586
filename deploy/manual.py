#!/usr/bin/env python3
"""Writes the manual pages of a program that uses Swift's ArgumentParser, from its help dump.

    manual.py PROGRAM FOLDER      # writes FOLDER/waymark.1, and FOLDER/waymark-serve.1 and so on for its commands
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
    root = json.loads(run("--experimental-dump-help"))["command"]
    version = run("--version").strip()
    folder.mkdir(parents=True, exist_ok=True)
    for path, command in commands(root):
        page = "\n".join(lines(path, command, version)) + "\n"
        (folder / f"{'-'.join(path)}.1").write_text(page)


def commands(command, path=()):
    """Yields the command and its subcommands, each with its path of names."""
    path = (*path, command["commandName"])
    yield path, command
    for subcommand in command.get("subcommands", []):
        if subcommand["commandName"] != "help" and subcommand.get("shouldDisplay", True):
            yield from commands(subcommand, path)


def lines(path, command, version):
    name = "-".join(path)
    arguments = [argument for argument in command.get("arguments", []) if argument.get("shouldDisplay", True)]
    yield f'.TH {quoted(name.upper())} 1 "" {quoted(f"waymark {version}")} "Waymark"'
    yield ".SH NAME"
    yield f"{text(name)} \\- {text(command.get('abstract', ''))}"
    yield ".SH SYNOPSIS"
    yield f".B {text(' '.join(path))}"
    subcommands = [subcommand for subcommand in command.get("subcommands", []) if subcommand["commandName"] != "help"]
    if subcommands:
        yield ".I command"
    if any(argument["kind"] != "positional" for argument in arguments):
        yield "[\\fIoptions\\fR]"
    for argument in arguments:
        if argument["kind"] == "positional":
            operand = f"\\fI{text(argument['valueName'])}\\fR" + (" ..." if argument["isRepeating"] else "")
            yield f"[{operand}]" if argument["isOptional"] else operand
    if command.get("discussion"):
        yield ".SH DESCRIPTION"
        yield from paragraphs(command["discussion"])
    if subcommands:
        yield ".SH COMMANDS"
        for subcommand in subcommands:
            yield ".TP"
            yield f".BR {text('-'.join([*path, subcommand['commandName']]))} (1)"
            yield text(subcommand.get("abstract", ""))
    if arguments:
        yield ".SH OPTIONS"
        for argument in arguments:
            yield ".TP"
            yield " ".join(["\\fB" + text(", ".join(names(argument))) + "\\fR"] + value(argument))
            yield text(description(argument))
    if path[-1] == "serve":
        yield ".SH FILES"
        for file, meaning in (
            ("/etc/waymark/waymark.env", "Settings of the system service of the Debian package."),
            ("/usr/share/waymark/Migrations", "Migrations of the database schema."),
            ("/var/lib/waymark", "State directory of the system service."),
        ):
            yield from (".TP", f".I {text(file)}", text(meaning))
    yield ".SH SEE ALSO"
    others = [path[:-1]] if len(path) > 1 else [(*path, subcommand["commandName"]) for subcommand in subcommands]
    yield ",\n".join(f".BR {text('-'.join(each))} (1)" for each in others)


def names(argument):
    dashes = {"short": "-", "long": "--", "longWithSingleDash": "-"}
    spelled = [dashes[name["kind"]] + name["name"] for name in argument.get("names") or []]
    return spelled or [argument["valueName"]]


def value(argument):
    return [f"\\fI{text(argument['valueName'])}\\fR"] if argument["kind"] == "option" else []


def description(argument):
    parts = [argument.get("abstract", "")]
    if argument.get("discussion"):
        parts.append(argument["discussion"])
    if argument.get("defaultValue") is not None:
        parts.append(f"(default: {argument['defaultValue']})")
    return " ".join(part.strip() for part in parts if part)


def paragraphs(discussion):
    """Yields the paragraphs of a text. Indented lines are examples, and are not filled."""
    for block in re.split(r"\n\s*\n", textwrap.dedent(discussion)):
        yield ".PP"
        is_example = False
        for line in block.split("\n"):
            if line.startswith(" ") != is_example:
                is_example = not is_example
                yield ".nf" if is_example else ".fi"
            yield text(line)
        if is_example:
            yield ".fi"


def text(value):
    """Escapes the characters that are special in roff."""
    escaped = value.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\\&" + escaped if escaped.startswith(".") else escaped


def quoted(value):
    return '"' + text(value).replace('"', '""') + '"'


if __name__ == "__main__":
    main()
