"""The testbed is what it says it is: real servers, exact counts, real faults, and nothing left afterwards.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.effort import exhaustive
from tests.testbed import Account, Proxy, Testbed
from tests.testbed.needs import COMMANDS, LIST

pytestmark = [pytest.mark.testbed, exhaustive]

SHELLS = ["/bin/bash", "/bin/zsh", "/bin/tcsh", "/usr/bin/fish"]
CLUSTERS = ["lrz", "dfki", "bare", "wilson", "daint", "pegasus", "narval"]


@pytest.fixture
def account(bed: Testbed) -> Iterator[Account]:
    account = bed.new_account("wilson")
    yield account
    account.remove()


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_account_is_fresh(bed: Testbed, cluster: str) -> None:
    account = bed.new_account(cluster)
    done = account.ssh("id -un; pwd; ls -A")
    assert (done.returncode, done.stdout.split()) == (0, [account.user, account.home])


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_answers(bed: Testbed, shell: str) -> None:
    account = bed.new_account("lrz", shell=shell)
    for answer in (account.ssh("echo $SHELL"), account.login("echo $SHELL"), account.login_shell("echo $SHELL")):
        assert answer.stdout.split() == [shell], answer
        assert answer.returncode == 0


def test_sessions_are_counted_exactly(account: Account) -> None:
    for number in range(1, 6):
        account.ssh("true")
        assert (account.sessions(), account.logins()) == (number, number)
    account.login("true")
    assert account.sessions() == 5
    account.reset_sessions()
    assert account.sessions() == 0


def test_sessions_on_one_connection_are_counted_singly(account: Account) -> None:
    socket = f"/tmp/hob-test-{os.getpid()}"
    try:
        for _ in range(3):
            account.ssh("true", "-o", "ControlMaster=auto", "-o", "ControlPersist=30", "-o", f"ControlPath={socket}")
    finally:
        account.ssh("", "-o", f"ControlPath={socket}", "-O", "exit")
    assert (account.sessions(), account.logins()) == (3, 1)


def test_sessions_of_another_user_do_not_count(bed: Testbed) -> None:
    one, other = bed.new_account("lrz", user="ab"), bed.new_account("lrz", user="abc")
    other.ssh("true")
    assert (one.sessions(), other.sessions()) == (0, 1)


def test_daint_is_reached_through_its_jump_host_alone(bed: Testbed) -> None:
    account = bed.new_account("daint")
    assert account.ssh("echo $SSH_CONNECTION").stdout.split()[0] == account.host[: account.host.rfind(".")] + ".193"
    assert bed.cluster("ela").logins(account.user) == 1
    direct = account.ssh("true", "-o", "ProxyJump=none", "-o", "ConnectTimeout=2")
    assert direct.returncode == 255
    assert account.sessions() == 1


@pytest.mark.parametrize("shell", SHELLS)
def test_site_variables_are_for_login_shells_alone(bed: Testbed, shell: str) -> None:
    account = bed.new_account("daint", shell=shell, project="g123")
    wanted = [f"/capstor/scratch/cscs/{account.user}", "/capstor/store/cscs/userlab/g123"]
    assert account.login("echo $SCRATCH; echo $STORE").stdout.split() == wanted
    assert account.login_shell("echo $SCRATCH; echo $STORE").stdout.split() == wanted
    assert account.ssh("printenv SCRATCH STORE").stdout.split() == []


def test_wilson_has_an_old_python_and_no_other(bed: Testbed, account: Account) -> None:
    if account.cluster.python != (3, 6):
        pytest.skip("no Python 3.6 on this machine, so wilson has the host's")
    ask = "import ctypes, json, ssl, sys, zlib; print(sys.version_info[:2])"
    assert account.ssh(f"/usr/libexec/platform-python -c '{ask}'").stdout.strip() == "(3, 6)"
    assert account.ssh("command -v python python3 python3.11 python3.6").stdout == ""


def test_bare_has_no_python(bed: Testbed) -> None:
    account = bed.new_account("bare")
    assert account.name == f"{account.user}@dfki"
    assert account.ssh("ls -d /usr/bin/python* /usr/libexec/platform-python /usr/local/bin/python*").stdout == ""
    assert "sh: 1: python3: not found" in account.ssh("sh -c 'python3 -V'").stderr


def test_site_folders_are_there_and_writable(bed: Testbed) -> None:
    for cluster, folders in {
        "lrz": ["/dss/dssfs04/lwp-dss-0002/pr12ab/pr12ab-dss-0000"],
        "dfki": ["/data", "/data/enroot"],
        "wilson": ["/work1/pr12ab", "/wclustre/pr12ab"],
        "daint": ["/capstor/store/cscs/userlab/pr12ab"],
    }.items():
        account = bed.new_account(cluster, project="pr12ab")
        for folder in folders:
            assert account.ssh(f"mkdir {folder}/{account.user}").returncode == 0
            assert f"{folder}/{account.user}" in account.tree()
        assert not Path(folders[0]).exists()


def test_nothing_of_the_host_is_changed(bed: Testbed) -> None:
    before = [Path(path).read_bytes() for path in ("/etc/passwd", "/etc/shadow", "/etc/group")]
    account = bed.new_account("lrz", user="hobguest")
    account.cluster.world.run("sh", "-c", "echo x >/etc/hob-canary; rm -f /usr/bin/factor")
    account.cluster.world.run("cp", "/usr/bin/id", "/usr/bin/factor")  # which no other test needs there
    assert before == [Path(path).read_bytes() for path in ("/etc/passwd", "/etc/shadow", "/etc/group")]
    assert not Path("/etc/hob-canary").exists()
    assert subprocess.run(["/usr/bin/factor", "6"], check=True, capture_output=True).stdout == b"6: 2 3\n"


def test_tree_shows_every_touch(bed: Testbed) -> None:
    account = bed.new_account("wilson", files={"a/b": b"one", ".profile": b""}, skel=True)
    before = account.tree()
    assert account.ssh("cat a/b .profile; ls -lR").returncode == 0
    assert account.tree() == before
    for touch in ("touch a/b", "printf two >a/b", "chmod 600 a/b", "cp a/b c && mv c a/b", "ln -s b a/l", "mkfifo p"):
        assert account.ssh(touch).returncode == 0
        after = account.tree()
        assert after != before, touch
        before = after


def test_links_are_followed_as_the_account_sees_them(account: Account) -> None:
    work = account.folders[0]
    account.ssh(f"echo here >{work}/f; ln -s {work} work; ln -s /etc/nowhere broken; ln -s loop loop")
    assert account.read("work/f") == b"here\n"
    assert account.read("work/../../etc/hostname") == account.read("/etc/hostname")
    assert account.exists("broken")
    assert account.exists("loop")
    assert not account.exists("absent")


def test_name_can_be_used_again(bed: Testbed) -> None:
    for _ in range(2):
        account = bed.new_account("dfki", user="simone")
        assert account.ssh("ls -A . /data/simone; touch x; mkdir /data/simone").stdout.split() == [".:"]
        assert account.sessions() == 1


def test_full_home_says_so(account: Account) -> None:
    account.small_home("64k", inodes=20)
    account.fill_home()
    assert "No space left" in account.ssh("echo x >new").stderr
    account.ssh("rm .filler")
    assert account.ssh("echo x >new").returncode == 0
    many = account.ssh("for i in $(seq 40); do : >f$i; done")
    assert "No space left" in many.stderr
    account.normal_home()
    assert account.ssh("ls -A").stdout == ""


def test_hang_hangs_and_ends(account: Account) -> None:
    folder = f"{account.folders[0]}/data"
    account.ssh(f"mkdir {folder}; echo here >{folder}/f")
    account.hang(folder)
    with pytest.raises(subprocess.TimeoutExpired):
        account.ssh(f"cat {folder}/f", timeout=1.5)
    assert account.ssh("echo alive").stdout == "alive\n"
    account.unhang()
    assert account.ssh(f"cat {folder}/f").stdout == "here\n"


def test_proxy_makes_the_network_far_and_counts(account: Account) -> None:
    near = _seconds(account)
    with Proxy(account.host, account.port, delay_ms=75) as proxy:
        far = _seconds(account, *proxy.options(account.cluster.name))
        assert far - near > 6 * 0.150  # a login takes more than six round trips
        size, start = 20_000_000, time.monotonic()
        done = account.ssh(f"head -c {size} /dev/zero", *proxy.options(account.cluster.name))
        assert (len(done.stdout), time.monotonic() - start < far + 3) == (size, True)
        assert proxy.bytes_down > size
        assert 1000 < proxy.bytes_up < size / 10
        assert proxy.connections == 2


@pytest.mark.parametrize("way", ["cut_up", "cut_down"])
def test_proxy_cuts(account: Account, way: str) -> None:
    with Proxy(account.host, account.port, **{way: 3500}) as proxy:
        done = account.ssh("head -c 100000 /dev/zero; sleep 5", *proxy.options(account.cluster.name), text="x" * 100000)
        assert done.returncode == 255
        assert 3500 in (proxy.bytes_up, proxy.bytes_down)


def test_proxy_freezes_and_thaws(account: Account) -> None:
    with Proxy(account.host, account.port) as proxy:
        proxy.freeze()
        with pytest.raises(subprocess.TimeoutExpired):
            account.ssh("true", *proxy.options(account.cluster.name), timeout=1)
        proxy.thaw()
        assert account.ssh("true", *proxy.options(account.cluster.name)).returncode == 0


def test_ansible_reaches_accounts_in_a_clean_environment(bed: Testbed, tmp_path: Path) -> None:
    accounts = [bed.new_account(name) for name in ("lrz", "daint")]
    hosts = "".join(
        f"{account.name} ansible_user={account.user} ansible_host={account.host}"
        f" ansible_ssh_common_args='-F {bed.ssh_config}'\n"
        for account in accounts
    )
    (tmp_path / "hosts").write_text(hosts, encoding="utf-8")
    if not (Path(sys.executable).parent / "ansible").exists():
        pytest.skip("no Ansible in this environment")
    order = ["all", "-i", str(tmp_path / "hosts"), "-m", "raw", "-a", "pwd"]
    done = bed.ansible(*order, program="ansible")
    assert (done.returncode, done.stderr) == (0, "")
    for account in accounts:
        assert account.home in done.stdout
        assert (account.sessions(), account.logins()) == (1, 1)


def test_package_list_is_complete() -> None:
    assert set(COMMANDS.values()) <= set(LIST.read_text(encoding="ascii").split())


def _seconds(account: Account, *options: str) -> float:
    start = time.monotonic()
    assert account.ssh("true", *options).returncode == 0
    return time.monotonic() - start
