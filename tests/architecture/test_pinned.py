"""The locks install anywhere: exact versions, hashes, no address; and no tracked file names a package registry."""

import re
import subprocess
import tomllib

import pytest

LOCKS = ("site", "test", "dev")
PIN = re.compile(r"[a-z0-9][a-z0-9.-]*==[^\s;]+( ; [^\\]+)?( \\)?")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
# Put together here, so that this file holds none of them.
REGISTRIES = tuple(
    ".".join(parts).encode()
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("yarnpkg", "com"),
        ("conda", "anaconda", "org"),
        ("index", "crates", "io"),
        ("static", "crates", "io"),
        ("proxy", "golang", "org"),
        ("deb", "debian", "org"),
        ("security", "debian", "org"),
        ("archive", "ubuntu", "com"),
    )
)


def faults(lock):
    """One line per line of a lock that is not a pin, a hash or a comment, and per pin without a hash."""
    found = []
    pinned = None
    for number, line in enumerate(lock.splitlines(), start=1):
        if "://" in line:
            found.append(f"line {number} holds an address: {line.strip()}")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if PIN.fullmatch(line):
            if pinned:
                found.append(f"{pinned} has no hash")
            pinned = line.split("==")[0]
        elif HASH.fullmatch(line):
            pinned = None
        else:
            found.append(f"line {number} is neither a pin nor a hash: {line.strip()}")
    if pinned:
        found.append(f"{pinned} has no hash")
    return found


def pins(lock):
    return dict(line.split(" ")[0].split("==") for line in lock.splitlines() if PIN.fullmatch(line))


def asked_for(root, extras):
    """The names that pyproject.toml asks for directly, spelled as a lock spells them."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    return {re.match(r"[A-Za-z0-9._-]+", line)[0].lower().replace("_", "-") for line in asked}


def read(root, name):
    return (root / "requirements" / f"{name}.txt").read_text(encoding="utf-8")


def addresses(text):
    return [host.decode() for host in REGISTRIES if host in text]


@pytest.mark.parametrize("name", [*LOCKS, "sources", "checkpoints", "checkpoints-large"])
def test_every_line_is_pinned_and_hashed(root, name):
    lock = read(root, name)
    assert pins(lock)
    assert not faults(lock), "\n".join(faults(lock))


@pytest.mark.parametrize(
    ("name", "extras"),
    [("site", ("site",)), ("test", ("site", "algebra", "sweep", "test")), ("dev", ("site", "test", "dev"))],
)
def test_a_lock_holds_what_the_project_asks_for(root, name, extras):
    missing = asked_for(root, extras) - set(pins(read(root, name)))
    assert not missing, f"run `make lock`: {sorted(missing)}"


@pytest.mark.parametrize(("small", "large"), [("site", "test"), ("test", "dev")])
def test_the_locks_agree(root, small, large):
    assert pins(read(root, small)).items() <= pins(read(root, large)).items()


@pytest.mark.parametrize(
    "lock",
    [
        "rich>=15\n    --hash=sha256:" + "0" * 64,
        "rich==15.0.0",
        "rich==15.0.0 \\\n    --hash=sha256:" + "0" * 64 + "\nclick==8.5.1\n",
        "rich @ file:///tmp/rich.whl",
        "--index-url https://example.invalid/simple",
        "# made from https://example.invalid/simple",
    ],
)
def test_a_faulty_lock_is_seen(lock):
    assert faults(lock)


def test_no_tracked_file_names_a_registry(root):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    paths = [root / name.decode() for name in listed.stdout.split(b"\0") if name]
    broken = {
        str(path.relative_to(root)): hosts
        for path in paths
        if path.is_file() and (hosts := addresses(path.read_bytes()))
    }
    assert not broken


def test_a_planted_registry_is_seen():
    assert addresses(b"pip install --index-url " + b"https://" + REGISTRIES[0] + b"/simple rooflight")
