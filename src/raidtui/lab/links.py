"""Links between a lab's storage server and its clients: names, addresses, speed, and the guest's script for them.

Link N leads from the storage server (10.10.N.1) to client cN (10.10.N.2). It is a pair of network cards whose frames two
QEMU processes exchange over a socket in the lab's own folder: nothing of this machine's network takes part.
"""

from __future__ import annotations

import re
import shlex
from typing import Final, NamedTuple

import msgspec

from raidtui.model.problem import ProblemError, Refusal, fail

LAB_LINK: Final = Refusal(
    "lab.link",
    "The links of the lab are not valid",
    "--link is a list of a rate (kbit, mbit, gbit), a delay (us, ms), mtu=BYTES (1280 to 9000) and rxe, each at most once. "
    "It needs --hosts 2 or more.",
    "For example: --hosts 3 --link 1gbit,0.2ms,mtu=9000,rxe.",
)

_RATES: Final = {"kbit": 1_000, "mbit": 1_000_000, "gbit": 1_000_000_000}
_DELAYS: Final = {"us": 1, "ms": 1_000}
_RATE: Final = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)(kbit|mbit|gbit)")
_DELAY: Final = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)(us|ms)")
_MTU: Final = re.compile(r"mtu=(\d{1,5})")
_QUEUE_PACKETS: Final = 1000
_FASTEST_BITS_PER_S: Final = 10_000_000_000


class LinkSpec(msgspec.Struct, frozen=True):
    """Requested properties of every link of a lab."""

    rate_bits_per_s: int = 0
    """Limit of each direction; 0 for none."""
    delay_us: int = 0
    """Added in each direction: the round trip grows by twice as much."""
    mtu: int = 1500
    rxe: bool = False
    """Soft-RoCE: each end gets an RDMA device."""

    def __str__(self) -> str:
        parts = []
        if self.rate_bits_per_s:
            parts.append(f"{self.rate_bits_per_s / 1_000_000:.10g}mbit")
        if self.delay_us:
            parts.append(f"{self.delay_us / 1000:.10g}ms")
        return ",".join([*parts, f"mtu={self.mtu}", *(["rxe"] if self.rxe else [])])


def parse_link(text: str) -> LinkSpec:
    """Parse `1gbit,0.2ms,mtu=9000,rxe`, in any order. Raises ProblemError naming the bad part."""
    found: dict[str, int | bool] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        field, value = _part(part)
        if field in found:
            raise _bad(part, "is a second value of the same kind")
        found[field] = value
    return msgspec.convert(found, LinkSpec)


def _part(part: str) -> tuple[str, int | bool]:
    if part == "rxe":
        return "rxe", True
    if match := _RATE.fullmatch(part):
        rate = round(float(match[1]) * _RATES[match[2]])
        if not 8_000 <= rate <= 100 * _RATES["gbit"]:
            raise _bad(part, "is slower than 8kbit or faster than 100gbit")
        return "rate_bits_per_s", rate
    if match := _DELAY.fullmatch(part):
        delay = round(float(match[1]) * _DELAYS[match[2]])
        if not 1 <= delay <= 10_000_000:
            raise _bad(part, "is shorter than 1us or longer than 10000ms")
        return "delay_us", delay
    if match := _MTU.fullmatch(part):
        if not 1280 <= int(match[1]) <= 9000:
            raise _bad(part, "is not between 1280 and 9000 bytes")
        return "mtu", int(match[1])
    raise _bad(part, "is no rate, delay, mtu=BYTES or rxe")


def _bad(part: str, why: str) -> ProblemError:
    return fail(LAB_LINK, f"{part!r} {why}", place="--link", remedy="write for example 1gbit,0.2ms,mtu=9000,rxe")


class End(NamedTuple):
    """One end of a link: a network card of a guest."""

    number: int
    """Number of the link, and of its client."""
    interface: str
    """Name of the network interface in the guest: it tells where the link leads."""
    address: str
    peer: str
    """Name of the host at the other end, in this guest's /etc/hosts."""
    peer_address: str
    mac: str
    at_server: bool

def ends(client: int, clients: int = 0) -> list[End]:
    """Return the ends of links at one host: at client number `client`, or (0) at the storage server of so many clients."""
    if client:
        return [_end(client, at_server=False)]
    return [_end(number, at_server=True) for number in range(1, clients + 1)]


def _end(number: int, *, at_server: bool) -> End:
    sides = [("storage", 1), (f"c{number}", 2)]
    (_, own_digit), (peer, peer_digit) = sides if at_server else reversed(sides)
    return End(
        number=number, interface=f"to-{peer}", address=f"10.10.{number}.{own_digit}", peer=peer,
        peer_address=f"10.10.{number}.{peer_digit}", mac=f"52:54:00:10:{number:02x}:{own_digit:02x}", at_server=at_server,
    )  # fmt: skip


SCRIPT: Final = "/etc/lab-links"
"""Script in the guest that sets its links up; `lab-links.service` runs it at every boot."""

_FUNCTION: Final = """link() { # MAC INTERFACE ADDRESS MTU
    tries=0
    until found=$(grep -lx "$1" /sys/class/net/*/address); do
        tries=$((tries + 1)); [ $tries -lt 300 ] || exit 1; sleep 0.1
    done
    now=${found%/address}; now=${now##*/}
    if [ "$now" != "$2" ]; then
        ip link set "$now" down
        ip link set "$now" name "$2"
    fi
    ip address replace "$3/24" dev "$2"
    ip link set "$2" mtu "$4" up
}
"""


def guest_script(found: list[End], spec: LinkSpec) -> str:
    """Return the lines of shell that name and address a guest's cards and shape what they send. They may run repeatedly."""
    lines = ["set -e", _FUNCTION]
    for end in found:
        lines.append(f"link {end.mac} {end.interface} {end.address} {spec.mtu}")
        if shape := _shape(spec):
            lines.append(f"tc qdisc replace dev {end.interface} root netem {shape}")
        if spec.rxe:
            device = f"rxe-{end.peer}"
            add = f"modprobe rdma_rxe && rdma link add {device} type rxe netdev {end.interface}"
            lines.append(f"rdma link show | grep -q 'netdev {end.interface} *$' || {{ {add}; }}")
    return "\n".join(lines) + "\n"


def _shape(spec: LinkSpec) -> str:
    """Return the options of tc-netem(8); empty if nothing is shaped."""
    words = []
    if spec.delay_us:
        words += ["delay", f"{spec.delay_us}us"]
    if spec.rate_bits_per_s:
        words += ["rate", f"{spec.rate_bits_per_s}bit"]
    if not words:
        return ""
    # netem holds delayed packets in its queue: without room for them it would drop what is only on its way.
    rate = spec.rate_bits_per_s or _FASTEST_BITS_PER_S
    under_way = rate * spec.delay_us // (1_000_000 * 8 * spec.mtu)
    return " ".join([*words, "limit", str(_QUEUE_PACKETS + under_way)])


def identity_script(found: list[End], spec: LinkSpec, host: str, machine_id: str) -> str:
    """Return the lines of shell that give a guest its own names and its links. `host` is empty on the storage server.

    The machine id is 32 hexadecimal digits. The guests come from one image: an NVMe or iSCSI target would take two of them
    for one host.
    """
    uuid = "-".join((machine_id[:8], machine_id[8:12], machine_id[12:16], machine_id[16:20], machine_id[20:]))
    name = f"raidtui-lab-{host}" if host else "raidtui-lab"
    names = [f"127.0.1.1 {name}", f"{found[0].address} {host or 'storage'}", *(f"{e.peer_address} {e.peer}" for e in found)]
    hosts = "\n".join(["127.0.0.1 localhost", *names]) + "\n"
    return f"""\
hostname {name}
echo {name} >/etc/hostname
printf %s {shlex.quote(hosts)} >/etc/hosts
echo nqn.2014-08.org.nvmexpress:uuid:{uuid} >/etc/nvme/hostnqn
echo {uuid} >/etc/nvme/hostid
echo InitiatorName=iqn.1993-08.org.debian:01:{machine_id[:12]} >/etc/iscsi/initiatorname.iscsi
printf %s {shlex.quote(guest_script(found, spec))} >{SCRIPT}
systemctl restart lab-links.service || exit 1
"""
