"""`python -m tests.clients --out build/clients`: Java, Go and TypeScript clients of openapi.json, each compiled.

The generator is PyPI's openapi-generator-cli with its own Java. A client whose compiler is not installed is generated
and left at that; the last lines say which ran.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TYPESCRIPT = "typescript@5.9"


@dataclass(frozen=True, slots=True)
class Client:
    """A generator by its name, its options, and the commands that compile what it made, in its folder."""

    generator: str
    options: tuple[str, ...]
    compiler: str
    commands: tuple[tuple[str, ...], ...]


CLIENTS = (
    Client(
        "java",
        ("groupId=wangtimer", "artifactId=wangtimer-client", "invokerPackage=wangtimer.client"),
        "mvn",
        (("mvn", "-q", "-B", "compile"),),
    ),
    Client(
        "go",
        ("packageName=wangtimer", "generateInterfaces=true"),
        "go",
        (("go", "build", "./..."), ("go", "vet", ".")),
    ),
    Client(
        "typescript-fetch",
        ("npmName=wangtimer-client", "supportsES6=true"),
        "npm",
        (
            ("npm", "install", "--silent", "--no-save", TYPESCRIPT),
            ("node_modules/.bin/tsc", "--strict", "--outDir", "dist"),
        ),
    ),
)


def main() -> int:
    """Generate and compile every client; return 1 where one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.clients", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "clients")
    out = parser.parse_args().out.resolve()
    made = [_make(client, out / client.generator) for client in CLIENTS]
    print(*(line for line, _ in made), sep="\n")
    return 0 if all(is_well for _, is_well in made) else 1


def _make(client: Client, folder: Path) -> tuple[str, bool]:
    shutil.rmtree(folder, ignore_errors=True)
    for argv, place in _steps(client, folder):
        done = subprocess.run(argv, cwd=place, capture_output=True, text=True)
        if done.returncode:
            print(done.stdout[-4_000:], done.stderr[-4_000:], sep="\n", file=sys.stderr)
            return f"{client.generator}: FAILED at {' '.join(argv[:3])} (in {folder})", False
    files = sum(1 for found in folder.rglob("*") if found.is_file() and "node_modules" not in found.parts)
    compiled = "compiled" if shutil.which(client.compiler) else f"NOT compiled: there is no {client.compiler}"
    return f"{client.generator}: {files} files in {folder}, {compiled}", True


def _steps(client: Client, folder: Path) -> Iterator[tuple[tuple[str, ...], Path]]:
    generator = str(Path(sys.executable).with_name("openapi-generator-cli"))
    document, options = (
        str(ROOT / "openapi.json"),
        ",".join(("hideGenerationTimestamp=true", *client.options)),
    )
    names = ("--git-user-id", "wangtimer", "--git-repo-id", "client")
    yield (
        (
            generator,
            "generate",
            "-i",
            document,
            "-g",
            client.generator,
            "-o",
            str(folder),
            *names,
            "-p",
            options,
        ),
        ROOT,
    )
    if shutil.which(client.compiler):
        for command in client.commands:
            yield command, folder


if __name__ == "__main__":
    sys.exit(main())
