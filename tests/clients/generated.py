"""Clients generated from openapi.json: how each is made, compiled, and asked to make, find and cancel a timer."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
TYPESCRIPT = "typescript@5.9"


@dataclass(frozen=True, slots=True)
class Client:
    """A generator by its name and options, the program that uses its client, and how both are compiled and run.

    `program` is copied to `place` in the client's folder; `run` gets the URL of the service behind it.
    """

    generator: str
    options: tuple[str, ...]
    compiler: str
    program: str
    place: str
    compile: tuple[tuple[str, ...], ...]
    run: tuple[str, ...]

    @property
    def has_compiler(self) -> bool:
        """Whether its compiler is installed."""
        return shutil.which(self.compiler) is not None

    def generate(self, folder: Path) -> None:
        """Generate the client anew, with the program beside it."""
        shutil.rmtree(folder, ignore_errors=True)
        options = ",".join(("hideGenerationTimestamp=true", "enumUnknownDefaultCase=true", *self.options))
        program = str(Path(sys.executable).with_name("openapi-generator-cli"))
        document = str(ROOT / "openapi.json")
        names = ("--git-user-id", "wangtimer", "--git-repo-id", "client")
        made = (
            program,
            "generate",
            "-i",
            document,
            "-g",
            self.generator,
            "-o",
            str(folder),
            *names,
            "-p",
            options,
        )
        done(made, ROOT)
        place = folder / self.place
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROGRAMS / self.program, place)


def done(argv: tuple[str, ...], folder: Path) -> str:
    """Run a command in a folder; return what it printed. Fails with its last words where it failed."""
    ended = subprocess.run(argv, cwd=folder, capture_output=True, text=True)
    words = f"{ended.stdout[-4_000:]}\n{ended.stderr[-4_000:]}"
    assert ended.returncode == 0, f"{' '.join(argv[:4])} (in {folder}) failed:\n{words}"
    return ended.stdout


CLIENTS = (
    Client(
        "java",
        (
            "groupId=wangtimer",
            "artifactId=wangtimer-client",
            "invokerPackage=wangtimer.client",
            "apiPackage=wangtimer.client.api",
            "modelPackage=wangtimer.client.model",
        ),
        "mvn",
        "MakeFindCancel.java",
        "src/main/java/wangtimer/MakeFindCancel.java",
        (
            ("mvn", "-q", "-B", "compile"),
            ("mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=target/lib"),
        ),
        ("java", "-cp", "target/classes:target/lib/*", "wangtimer.MakeFindCancel"),
    ),
    Client(
        "go",
        ("packageName=wangtimer", "generateInterfaces=true"),
        "go",
        "make_find_cancel.go",
        "cmd/make_find_cancel/main.go",
        (
            ("go", "build", "./..."),
            ("go", "vet", "."),
            ("go", "build", "-o", "program", "./cmd/make_find_cancel"),
        ),
        ("./program",),
    ),
    Client(
        "typescript-fetch",
        ("npmName=wangtimer-client", "supportsES6=true"),
        "npm",
        "make_find_cancel.ts",
        "src/make_find_cancel.ts",
        (
            ("npm", "install", "--silent", "--no-save", TYPESCRIPT),
            ("node_modules/.bin/tsc", "--strict", "--outDir", "dist", "--lib", "es2022,dom"),
        ),
        ("node", "dist/make_find_cancel.js"),
    ),
)
