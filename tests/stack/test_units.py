"""The systemd unit and the Kubernetes manifest start what the Procfile starts (checked without a cluster)."""

import re
import shlex
import shutil
import subprocess
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.blocks import blocks
from tests.servers.server_process import ServerMissingError, find_program
from tests.stack.accounts import made_accounts
from wangtimer.base.settings import ENV_PREFIX, Settings
from wangtimer.stack.procfile import Command, read_commands

ROOT = Path(__file__).parents[2]
UNIT = (ROOT / "deploy/systemd/wangtimer@.service").read_text()
MANIFEST = ROOT / "deploy/kubernetes/wangtimer.yaml"
PAGES = (ROOT / "docs/how-to/deploy-with-systemd.md", ROOT / "docs/how-to/deploy-on-kubernetes.md")
# A page for people that asks for a password; the manifest leaves it out.
NOT_IN_THE_CLUSTER = {"flower"}
# systemd's own reader of such files as EnvironmentFile= names; it prints what it read, as words of a shell.
READER = Path("/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator")
# s; what a stopping worker takes beside waiting for its calls: it may wait for room for a chunk, and records outcomes.
WORKERS_MARGIN_S = 4


def started(instance: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run what an instance of the unit runs, with a folder as /etc/wangtimer; the command's words are printed."""
    (script,) = re.findall(r"^ExecStart=/bin/sh -c '(.*)'$", UNIT, re.M)
    # What systemd makes of it.
    typed = script.replace("$$", "$").replace("%i", instance).replace("/etc/wangtimer/", f"{folder}/")
    printed = typed.replace("eval exec ", """eval printf "'%s\\n'" """)
    return subprocess.run(["/bin/sh", "-c", printed], capture_output=True, text=True)


@pytest.mark.parametrize("command", read_commands().values(), ids=lambda command: command.name)
def test_the_unit_runs_the_line_of_the_procfile_that_its_instance_names(command: Command) -> None:
    assert tuple(started(command.name, ROOT).stdout.splitlines()) == command.argv


def test_a_line_of_the_operator_s_own_file_counts_first_and_no_line_is_told(tmp_path: Path) -> None:
    (tmp_path / "Procfile").write_text((ROOT / "Procfile").read_text())
    # Its last line has no end.
    (tmp_path / "Procfile.own").write_text("callback: celery -c 9\ncallback2: celery '-c 1'")
    assert started("callback", tmp_path).stdout.split() == ["celery", "-c", "9"]
    assert started("callback2", tmp_path).stdout.splitlines() == ["celery", "-c 1"]
    assert tuple(started("web", tmp_path).stdout.splitlines()) == read_commands()["web"].argv
    gone = started("callback3", tmp_path)
    assert (gone.returncode, gone.stdout, "no line callback3: in" in gone.stderr) == (1, "", True)


@pytest.fixture
def systemd_analyze() -> str:
    try:
        return find_program("systemd-analyze", "systemd")
    except ServerMissingError as missing:
        pytest.skip(str(missing))


def test_systemd_finds_nothing_to_say_of_the_unit(tmp_path: Path, systemd_analyze: str) -> None:
    """What it does not know it leaves out, and ends with 0: so its words count."""
    (tmp_path / "wangtimer@.service").write_text(UNIT)
    instances = [str(tmp_path / f"wangtimer@{name}.service") for name in read_commands()]
    verified = subprocess.run([systemd_analyze, "verify", *instances], capture_output=True, text=True)
    assert (verified.stderr, verified.stdout, verified.returncode) == ("", "", 0)


def test_a_stop_leaves_the_unit_s_calls_the_time_they_may_take() -> None:
    (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.M)
    assert int(seconds) > Settings().drain_s + WORKERS_MARGIN_S


def test_the_unit_is_started_again_however_often_it_dies() -> None:
    assert "Restart=always" in UNIT
    # Without it systemd gives up after five starts within ten seconds, as in an outage.
    (unit,) = re.findall(r"^\[Unit\]\n(.*?)^\[", UNIT, re.M | re.S)
    assert "\nStartLimitIntervalSec=0\n" in unit


def documents() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(MANIFEST.read_text()))


def pods() -> dict[str, dict[str, Any]]:
    """Return the pod of each process, by its name."""
    return {
        one["metadata"]["labels"]["process"]: one["spec"]["template"]["spec"]
        for one in documents()
        if one["kind"] == "Deployment"
    }


def test_the_manifest_starts_each_process_with_the_procfile_s_command() -> None:
    started = {name: tuple(pod["containers"][0]["command"]) for name, pod in pods().items()}
    meant = {name: one.argv for name, one in read_commands().items() if name not in NOT_IN_THE_CLUSTER}
    assert started == meant


def test_each_deployment_finds_its_own_pods_and_the_service_those_of_the_api() -> None:
    for one in documents():
        if one["kind"] == "Deployment":
            labels = one["spec"]["template"]["metadata"]["labels"]
            assert one["spec"]["selector"]["matchLabels"] == labels == one["metadata"]["labels"]
        elif one["kind"] == "Service":
            process = {"wangtimer": "web", "wangtimer-stream": "stream"}[one["metadata"]["name"]]
            assert one["spec"]["selector"] == {"app": "wangtimer", "process": process}


def test_there_are_two_beats() -> None:
    (replicas,) = [
        one["spec"]["replicas"] for one in documents() if one["metadata"]["name"] == "wangtimer-beat"
    ]
    assert replicas == 2


def test_the_pages_take_the_mark_from_the_procfile_s_second_beat() -> None:
    (typed,) = re.findall(r"^(sed .*) Procfile > /etc/wangtimer/Procfile$", PAGES[0].read_text(), re.M)
    printed = subprocess.run(
        ["sh", "-c", f"{typed} {ROOT}/Procfile"], capture_output=True, text=True, check=True
    )
    lines = dict(line.split(": ", 1) for line in printed.stdout.splitlines() if not line.startswith("#"))
    assert lines["beat2"] == lines["beat"].replace("beat@%h", "beat2@%h")
    assert "wangtimer@beat2" in PAGES[0].read_text()


def test_workers_have_the_time_that_a_call_may_take() -> None:
    for pod in pods().values():
        assert pod["terminationGracePeriodSeconds"] > Settings().drain_s + WORKERS_MARGIN_S


def test_no_probe_starts_a_process_again_because_the_broker_is_away() -> None:
    """A worker that hangs ends itself. Beat is asked through the broker, with patience; the stream asks nobody."""
    (config,) = [one["data"] for one in documents() if one["kind"] == "ConfigMap"]
    containers = {name: pod["containers"][0] for name, pod in pods().items() if name != "web"}
    stream = containers.pop("stream")
    assert stream["livenessProbe"]["httpGet"]["path"] == "/openapi.json"
    assert stream["readinessProbe"]["httpGet"]["path"] == "/healthz"
    ready = {tuple(one["readinessProbe"]["exec"]["command"]) for one in containers.values()}
    assert ready == {("test", "-f", config["WANGTIMER_READY_FILE"])}
    assert {name for name, one in containers.items() if "livenessProbe" in one} == {"beat"}
    probe = containers["beat"]["livenessProbe"]
    assert probe["exec"]["command"][2].endswith(" -d beat@$HOSTNAME")
    assert probe["failureThreshold"] * probe["periodSeconds"] >= 600


def test_the_cluster_adds_no_variables_that_look_like_settings() -> None:
    # For a Service `wangtimer` it would add eight that begin as settings do, one of them for its port.
    assert {name for name, pod in pods().items() if pod.get("enableServiceLinks") is not False} == set()


def test_a_pod_can_write_to_nothing_but_tmp_gain_no_right_and_ask_the_cluster_nothing() -> None:
    for name, pod in pods().items():
        (container,) = pod["containers"]
        assert pod["automountServiceAccountToken"] is False, name
        assert container["securityContext"] == {
            "runAsNonRoot": True,
            "runAsUser": 10001,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        }, name
        tmp, *read_only = container["volumeMounts"]
        assert tmp == {"name": "tmp", "mountPath": "/tmp"}
        assert all(one["readOnly"] for one in read_only)
        assert [one["name"] for one in pod["volumes"]] == [one["name"] for one in container["volumeMounts"]]


def test_each_pod_has_a_secret_of_its_own() -> None:
    secrets = {
        name: [one["secretRef"]["name"] for one in pod["containers"][0]["envFrom"] if "secretRef" in one]
        for name, pod in pods().items()
    }
    assert secrets == {name: [f"wangtimer-{name}"] for name in pods()}


def policies() -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one["spec"] for one in documents() if one["kind"] == "NetworkPolicy"}


def test_only_the_api_is_reached_and_only_callbacks_reach_the_world() -> None:
    everyone, web, callback = (
        policies()[name] for name in ("wangtimer", "wangtimer-web", "wangtimer-callback")
    )
    assert everyone["podSelector"] == {"matchLabels": {"app": "wangtimer"}}
    assert (everyone["policyTypes"], everyone["ingress"]) == (["Ingress", "Egress"], [])
    assert {port["port"] for rule in everyone["egress"] for port in rule["ports"]} == {53, 3306, 6379}
    assert all("ipBlock" not in to for rule in everyone["egress"] for to in rule["to"])
    assert web["podSelector"]["matchLabels"]["process"] == "web"
    assert web["ingress"] == [{"ports": [{"protocol": "TCP", "port": 5000}]}]
    stream = policies()["wangtimer-stream"]
    assert stream["podSelector"]["matchLabels"]["process"] == "stream"
    assert stream["ingress"] == [{"ports": [{"protocol": "TCP", "port": 5001}]}]
    assert callback["podSelector"]["matchLabels"]["process"] == "callback"


@pytest.mark.parametrize(
    "address",
    [
        "10.1.2.3",
        "100.100.100.200",
        "127.0.0.1",
        "168.63.129.16",
        "169.254.169.254",
        "172.31.0.1",
        "192.0.0.192",
        "192.168.1.1",
        "224.0.0.1",
    ],
)
def test_the_world_is_no_private_network_and_no_metadata_address(address: str) -> None:
    (rule,) = policies()["wangtimer-callback"]["egress"]
    (block,) = (to["ipBlock"] for to in rule["to"])
    assert block["cidr"] == "0.0.0.0/0"
    assert any(ip_address(address) in ip_network(excepted) for excepted in block["except"])
    assert {port["port"] for port in rule["ports"]} == {80, 443}


def choices() -> dict[str, str]:
    """Return the settings that the manifest has as comments."""
    return dict(re.findall(r"^  # (WANGTIMER_\w+): (\S+)$", MANIFEST.read_text(), re.M))


def test_mail_brokers_and_proxies_are_choices_that_the_manifest_names() -> None:
    assert choices().keys() == {
        "WANGTIMER_BROKERS_FILE",
        "WANGTIMER_SMTP_SENDER",
        "WANGTIMER_TRUSTED_PROXIES",
    }
    assert_settings(choices())
    # The server of mail has a password: it stands in no ConfigMap.
    assert "WANGTIMER_SMTP_URL goes into callback.env" in MANIFEST.read_text()


def test_who_reads_the_brokers_has_their_secret_and_starts_without_one() -> None:
    having = {}
    for name, pod in pods().items():
        mounts = {one["name"]: one["mountPath"] for one in pod["containers"][0]["volumeMounts"]}
        if "brokers" in mounts:
            having[name] = mounts["brokers"]
            (volume,) = [one for one in pod["volumes"] if one["name"] == "brokers"]
            assert volume["secret"] == {"secretName": "wangtimer-brokers", "optional": True}
    folder = choices()["WANGTIMER_BROKERS_FILE"].rpartition("/")[0]
    assert having == {"web": folder, "callback": folder}


def test_the_policy_that_lets_mail_and_messages_out_is_a_choice_for_callbacks_alone() -> None:
    *_, commented = MANIFEST.read_text().partition("\n# ---\n")
    policy = yaml.safe_load("\n".join(line.removeprefix("# ") for line in commented.splitlines()))
    assert policy["kind"] == "NetworkPolicy"
    assert policy["metadata"]["name"] not in policies()
    assert policy["spec"]["podSelector"] == policies()["wangtimer-callback"]["podSelector"]
    assert policy["spec"]["policyTypes"] == ["Egress"]
    assert all(rule["to"] for rule in policy["spec"]["egress"])
    brokers, mail = ({one["port"] for one in rule["ports"]} for rule in policy["spec"]["egress"])
    # RabbitMQ and Redis; then mail that is encrypted.
    assert (brokers, mail) == ({5671, 5672, 6379}, {465, 587})


def test_the_unit_gives_a_process_no_right_that_it_does_not_need() -> None:
    given = dict(re.findall(r"^(\w+)=(.*)$", UNIT, re.M))
    assert given["CapabilityBoundingSet"] == ""
    assert given["ProtectSystem"] == "strict"
    assert given["SystemCallFilter"] == "@system-service"
    assert given["RestrictAddressFamilies"] == "AF_INET AF_INET6 AF_UNIX"
    yes = {name for name, value in given.items() if value == "true"}
    assert yes >= {"NoNewPrivileges", "PrivateTmp", "PrivateDevices", "ProtectHome", "ProtectKernelTunables"}
    assert given["StateDirectory"] == "wangtimer"
    # What only this process is given comes behind what all are given.
    assert re.findall(r"^EnvironmentFile=(.*)$", UNIT, re.M) == [
        "/etc/wangtimer/settings.env",
        "-/etc/wangtimer/%i.env",
    ]


def test_every_setting_of_the_manifest_is_one() -> None:
    (config,) = [one["data"] for one in documents() if one["kind"] == "ConfigMap"]
    assert_settings(config)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_setting_of_a_page_is_one_and_can_be_read(page: Path) -> None:
    files = [block.text for block in blocks(page) if block.language == "ini"]
    assert files
    for text in files:
        assert_settings(dict(line.split("=", 1) for line in text.splitlines()))


def test_the_page_s_command_writes_the_files_of_the_units_with_where_the_servers_are(tmp_path: Path) -> None:
    (block,) = [
        one.text for one in blocks(PAGES[0]) if one.language == "sh" and one.value.endswith("test_units.py")
    ]
    typed = block.replace(" . /etc/wangtimer", f" {tmp_path} {tmp_path}/etc")
    subprocess.run(["sh", "-e", "-c", typed], cwd=ROOT, check=True, capture_output=True)
    web = (tmp_path / "etc/web.env").read_text()
    assert ("@store.internal:6379/0" in web, "@broker.internal:6379/0" in web) == (True, True)
    settings = (tmp_path / "etc/settings.env").read_text()
    assert "@db.internal/wangtimer?" in settings
    assert_settings(dict(line.split("=", 1) for line in (web + settings).splitlines()))


@pytest.mark.skipif(not READER.exists(), reason="no systemd here: apt-get install systemd")
def test_systemd_reads_what_make_accounts_wrote_for_each_process(tmp_path: Path) -> None:
    made_accounts(tmp_path, units=tmp_path / "units")
    files = list((tmp_path / "units").glob("*.env"))
    assert {one.stem for one in files} >= read_commands().keys()
    for file in files:
        folder = tmp_path / file.stem / "environment.d"
        folder.mkdir(parents=True)
        shutil.copy(file, folder / "read.conf")
        read = subprocess.run([READER], env={"XDG_CONFIG_HOME": str(folder.parent)}, capture_output=True)
        lines = set(shlex.split(read.stdout.decode()))
        assert set(file.read_text().splitlines()) <= lines, file.name


def assert_settings(given: dict[str, str]) -> None:
    fields = {name.removeprefix(ENV_PREFIX).lower(): value for name, value in given.items()}
    assert set(fields) <= set(Settings.model_fields)
    Settings.model_validate(fields)


def test_a_further_callback_process_differs_by_its_node_name_only() -> None:
    (line,) = [block.text for block in blocks(PAGES[0]) if block.language == "text"]
    name, _, command = line.strip().partition(": ")
    assert (name, tuple(shlex.split(command))) == ("callback2", read_commands()["callback"].numbered(2).argv)
