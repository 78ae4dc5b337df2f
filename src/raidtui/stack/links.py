"""Links that exports pass over: refusals where a transport over RDMA finds none, or where both ends do not fit."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from typing import Final

from raidtui.inventory.interfaces import link_of
from raidtui.model.network import LinkEnd
from raidtui.model.plan import Host
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal

NO_RDMA: Final = Refusal(
    "export-no-rdma",
    "RDMA is asked for where there is none",
    "The address of a link does not belong to an RDMA device that is up. The message names the end of the link.",
    "Use the transport tcp, or name the hosts by addresses of RDMA devices: `rdma link` shows them. For Soft-RoCE: "
    "rdma link add rxe0 type rxe netdev eth0.",
)
ADDRESS_TAKEN: Final = Refusal(
    "export-address-taken",
    "The address of an export is taken",
    "Another target or a process listens on the address and port that were planned for the export. It was not touched.",
    "Plan again: every plan has other ports. `ss -tlnp` and the folders nvmet/ports and target/iscsi below "
    "/sys/kernel/config show who listens.",
)
MTU: Final = Refusal(
    "export-mtu",
    "The ends of a link have different MTUs",
    "One end sends larger packets than the other one takes (jumbo frames on one side alone). RDMA has no way around it.",
    "Set the same MTU at both ends: ip link set dev INTERFACE mtu 9000.",
)


RDMA_TRANSPORTS: Final = ("rdma", "iser")


def is_address(text: str) -> bool:
    """Return True for an address that one interface alone can have: no link-local one of IPv6, which every link has."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and (address.is_link_local or address.ipv4_mapped or address.scope_id):
        return False
    return not (address.is_unspecified or address.is_multicast)


def canonical(address: str) -> str:
    """Return an IPv6 address as the kernel and ss(8) write it (RFC 5952); anything else as it is."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return address


def family(address: str) -> str:
    """Return `ipv6` or `ipv4`."""
    return "ipv6" if ":" in address else "ipv4"


def with_port(address: str, port: str | int) -> str:
    """`10.0.0.1:3260`, `[fd00::1]:3260`."""
    return f"{bracketed(address)}:{port}"


def bracketed(address: str) -> str:
    """Return an IPv6 address in brackets, so that a port can follow; anything else as it is."""
    return f"[{address}]" if family(address) == "ipv6" else address


def wrong_address(address: str | None, to: str | None, rdma: str) -> str:
    """Return what is wrong with the address of an export, as a sentence; `rdma` names a transport that needs one."""
    if address is None:
        return f"{rdma} has no loopback address" if rdma and not to else ""
    if to:
        return "an export to other hosts takes no address"
    return "" if is_address(address) else f"{address!r} is no address of an interface (IPv4, or IPv6 without a scope)"


def rdma_problems(hosts: Sequence[Host], place: str) -> Iterator[Problem]:
    """Yield what keeps the links to these hosts from RDMA. A link that is not known is no problem."""
    for host in hosts:
        ends = ("the storage server", host.storage_address, host.storage_link), (host.ref, host.own_address, host.own_link)
        for who, address, link in ends:
            if link is not None and not link.rdma:
                yield _no_rdma(address, who, link, place)
        if text := mtu_difference(host):
            yield MTU.problem(text, place=place, remedy=MTU.way_out, exit=Exit.REFUSED)


def mtu_difference(host: Host) -> str:
    """Return how the MTUs of a link differ, as a sentence without a full stop; empty if they do not, or are not known."""
    here, there = host.storage_link, host.own_link
    if here is None or there is None or here.mtu is None or there.mtu is None or here.mtu == there.mtu:
        return ""
    return f"the storage server's {here.interface} has MTU {here.mtu}, and {there.interface} of {host.ref} {there.mtu}"


def own_rdma_problems(address: str, place: str) -> Iterator[Problem]:
    """Yield what keeps an address of this server from RDMA, as the kernel shows it now."""
    link = link_of(address)
    if link is None or not link.rdma:
        yield _no_rdma(address, "this server", link, place)


def require_rdma(address: str, place: str) -> None:
    """Raise ProblemError (`export-no-rdma`) unless an RDMA device of this server has the address."""
    if problems := tuple(own_rdma_problems(address, place)):
        raise ProblemError(*problems)


def _no_rdma(address: str, who: str, link: LinkEnd | None, place: str) -> Problem:
    where = f"interface {link.interface}" if link is not None else "on no interface"
    text = f"{address} of {who} ({where}) belongs to no RDMA device that is up"
    return NO_RDMA.problem(text, place=place, remedy=NO_RDMA.way_out, exit=Exit.REFUSED)
