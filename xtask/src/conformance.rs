//! The reference implementation's own tests, pointed at our binary through a shim of its Python API.
//!
//! The package's source distribution carries the tests; they are fetched by name, never committed.

use crate::shell::{self, Outcome, cargo, root, say, target};
use std::process::Command;

const PACKAGE: &str = "skills-ref==0.1.1";

pub fn run() -> Outcome {
    shell::run("binary", cargo().args(["build", "--package", "fugato", "--locked", "--quiet"]))?;
    let room = target().join("conformance");
    std::fs::create_dir_all(&room).map_err(|error| error.to_string())?;
    let venv = room.join("venv");
    let python = venv.join("bin").join("python");
    if !python.exists() {
        shell::run("python environment", Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    shell::run("pytest", Command::new(&python).args(["-m", "pip", "install", "--quiet", "pytest"]))
        .map_err(|error| offline(&error))?;
    let tests = room.join("skills-ref").join("tests");
    if !tests.exists() {
        let sdist = room.join("sdist");
        shell::run(
            "reference tests",
            Command::new(&python)
                .args(["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "-d"])
                .arg(&sdist)
                .arg(PACKAGE),
        )
        .map_err(|error| offline(&error))?;
        unpack(&python, &sdist, &tests)?;
    }
    say("   running the reference implementation's tests against our binary");
    shell::run(
        "skills-ref conformance",
        Command::new(&python)
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir"])
            .arg(&room)
            .arg(&tests)
            .env("PYTHONPATH", root().join("tests/skills-ref/shim"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("FUGATO_BIN", target().join("debug").join("fugato")),
    )
}

/// Only the tests leave the archive: the package itself must not be importable.
fn unpack(python: &std::path::Path, sdist: &std::path::Path, tests: &std::path::Path) -> Outcome {
    let script = "\
import pathlib, sys, tarfile
archive, out = next(pathlib.Path(sys.argv[1]).glob('*.tar.gz')), pathlib.Path(sys.argv[2])
out.mkdir(parents=True)
with tarfile.open(archive) as tar:
    for member in tar.getmembers():
        parts = pathlib.PurePosixPath(member.name).parts
        if member.isfile() and len(parts) == 3 and parts[1] == 'tests' and parts[2].endswith('.py'):
            (out / parts[2]).write_bytes(tar.extractfile(member).read())
";
    shell::run("unpack", Command::new(python).args(["-c", script]).arg(sdist).arg(tests))
}

fn offline(error: &str) -> String {
    format!("{error}\nThe conformance suite needs the Python package index; nothing is skipped silently.")
}
