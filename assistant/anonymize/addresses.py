"""Addresses of all kinds: which are of one network stays visible, which network that is does not.

IPv4: loopback, link-local, multicast, Docker's 172.17 and netmasks stay. Other private addresses keep their range, the
relations of their prefixes and their last number; public ones become addresses of 100.64.0.0/10, which nobody owns.
MAC addresses and GUIDs keep the maker and get new low numbers, the same in all forms, so that ports of one card stay
neighbours. All numbers are given in the order of the originals; what is numbered like that already stays as it is.
"""

from __future__ import annotations

import ipaddress
import re
from bisect import bisect_left

_PUBLIC = tuple(
    [f"100.{n}" for n in range(64, 128)] + [f"{a}.{n}" for a in (11, 22, 26, 28, 29, 30, 33) for n in range(256)]
)
_KEPT_V4 = re.compile(
    r"(?:0|127|22[4-9]|2[345]\d)\.\d+\.\d+\.\d+|169\.254\.\d+\.\d+|172\.17\.\d+\.\d+|192\.0\.2\.\d+|198\.51\.100\.\d+|203\.0\.113\.\d+|1\.1\.1\.1|8\.8\.[84]\.[84]"
)


class Ranks:
    """Positions of values in their order."""

    def __init__(self) -> None:
        self._values: set[int] = set()
        self._sorted: list[int] = []

    def add(self, value: int) -> None:
        self._values.add(value)

    def settle(self) -> None:
        self._sorted = sorted(self._values)

    def of(self, value: int) -> int:
        return bisect_left(self._sorted, value)


class Addresses:
    def __init__(self) -> None:
        self.learning = True
        self._v4: set[str] = set()
        self._v6: set[int] = set()
        self._low: dict[str, Ranks] = {}
        self._guids: set[str] = set()
        self._numbered: dict[str, dict[str, str]] = {}
        self._seen: dict[str, set[str]] = {}
        self._map4: dict[str, str] = {}
        self._sites = Ranks()
        self._subnets: dict[int, Ranks] = {}
        self._ids = Ranks()

    # IPv4 -----------------------------------------------------------------------------------------------------------

    def v4(self, address: str) -> str:
        parts = address.split(".")
        if any(len(p) > 3 or int(p) > 255 for p in parts) or _KEPT_V4.fullmatch(address):
            return address
        plain = ".".join(str(int(p)) for p in parts)
        if self.learning:
            self._v4.add(plain.rpartition(".")[0])
            return address
        head, _, last = plain.rpartition(".")
        return f"{self._map4.get(head, head)}.{last}"

    def _settle4(self) -> None:
        tens = sorted({_bits(p) & 0xFFFF for p in self._v4 if p.startswith("10.")})
        for low, new in _squeezed(tens, 16).items():
            self._map4[f"10.{low >> 8}.{low & 255}"] = f"10.{new >> 8}.{new & 255}"
        blocks: dict[str, list[int]] = {}
        for prefix in self._v4:
            head, _, third = prefix.rpartition(".")
            if not head.startswith("10."):
                blocks.setdefault(head, []).append(int(third))
        small = sorted((h for h in blocks if _is_172(h)), key=_number)
        public = sorted((h for h in blocks if not _is_172(h) and h != "192.168"), key=_number)
        pool172 = [f"172.{n}" for n in range(16, 32) if n != 17]
        pool = _PUBLIC[:64] if len(public) <= 64 else _PUBLIC[64:]
        heads = {"192.168": "192.168", **dict(zip(small, pool172, strict=False))}
        heads.update((h, pool[i % len(pool)]) for i, h in enumerate(public))
        for head, thirds in blocks.items():
            for number, new in _squeezed(sorted(set(thirds)), 8).items():
                self._map4[f"{head}.{number}"] = f"{heads[head]}.{new}"

    # IPv6 -----------------------------------------------------------------------------------------------------------

    def v6(self, text: str) -> str:
        """An IPv6 address or GID; anything else comes back as it is."""
        try:
            value = int(ipaddress.IPv6Address(text))
        except ValueError:
            return text
        new = self._v6_value(value)
        if self.learning or new == value:
            return text
        address = ipaddress.IPv6Address(new)
        shown = address.exploded if text.count(":") == 7 and len(text) == 39 else str(address)
        return shown.upper() if text.upper() == text and text.lower() != text else shown

    def _v6_value(self, value: int) -> int:
        high, low = value >> 64, value & (2**64 - 1)
        if high == 0 and low >> 32 == 0xFFFF:
            address = str(ipaddress.IPv4Address(low & 0xFFFFFFFF))
            return (0xFFFF << 32) | int(ipaddress.IPv4Address(self.v4(address)))
        if high == 0 or value >> 120 == 0xFF:
            return value
        new_low = self._interface(low)
        if high >> 48 == 0xFE80:
            return (high << 64) | new_low
        site, subnet = high >> 16, high & 0xFFFF
        local = high >> 57 == 0x7E
        if self.learning:
            self._sites.add(site)
            self._subnets.setdefault(site, Ranks()).add(subnet)
            return value
        rank = self._sites.of(site)
        ranks = self._subnets.get(site)
        new_subnet = ranks.of(subnet) if ranks else 0
        base = (0xFD00 << 32 if local else 0x3FFE << 32) | rank
        return (((base << 16) | new_subnet) << 64) | new_low

    def _interface(self, low: int) -> int:
        if low >> 16 == 0 and low < 1024:
            return low
        text = f"{low:016x}"
        if text[6:10] in ("fffe", "0300") or text in self._guids:
            return int(self._guid_text(text), 16)
        if self.learning:
            self._ids.add(low)
            return low
        return self._ids.of(low) + 1024

    # MAC, GUID ------------------------------------------------------------------------------------------------------

    def mac(self, text: str) -> str:
        digits = re.sub(r"[^0-9a-fA-F]", "", text).lower()
        if len(digits) != 12 or digits in ("0" * 12, "f" * 12):
            return text
        new = digits[:6] + self._low_digits(digits[:6], digits[6:])
        return _like(text, new)

    def guid(self, text: str) -> str:
        """64 bits in hexadecimal: 0x..., with colons, or bare."""
        start = 2 if text[:2] in ("0x", "0X") else 0
        digits = re.sub(r"[^0-9a-fA-F]", "", text[start:]).lower()
        if len(digits) != 16 or not digits.strip("0") or not digits.strip("f"):
            return text
        if self.learning:
            self._guids.add(digits)
        return text[:start] + _like(text[start:], self._guid_text(digits))

    def is_guid(self, digits: str) -> bool:
        return digits.lower() in self._guids

    def _guid_text(self, digits: str) -> str:
        oui = digits[:6]
        if digits[6:10] == "fffe":
            oui = f"{int(oui, 16) ^ 0x020000:06x}"
        return digits[:10] + self._low_digits(oui, digits[10:])

    def _low_digits(self, oui: str, low: str) -> str:
        ranks = self._low.setdefault(oui, Ranks())
        if self.learning:
            ranks.add(int(low, 16))
            return low
        return f"{ranks.of(int(low, 16)):06x}"

    # numbers --------------------------------------------------------------------------------------------------------

    def numbered(self, kind: str, value: str, form: str) -> str:
        """The value's place among all of its kind, written in this form (`{}` is the number)."""
        if self.learning:
            self._seen.setdefault(kind, set()).add(value)
            return value
        known = self._numbered.setdefault(kind, {})
        return form.format(int(known.setdefault(value, str(len(known) + 1))))

    def settle(self) -> None:
        self.learning = False
        self._settle4()
        self._sites.settle()
        self._ids.settle()
        for ranks in (*self._low.values(), *self._subnets.values()):
            ranks.settle()
        for kind, values in self._seen.items():
            self._numbered[kind] = {v: str(i) for i, v in enumerate(sorted(values), 1)}

    def table(self) -> dict[str, dict[str, str]]:
        networks = {f"{a}.0/24": f"{b}.0/24" for a, b in sorted(self._map4.items(), key=lambda x: _number(x[0]))}
        out = {"network": networks} if networks else {}
        out.update((kind, known) for kind, known in sorted(self._numbered.items()))
        return out


def _bits(prefix: str) -> int:
    a, b, c = prefix.split(".")
    return int(a) << 16 | int(b) << 8 | int(c)


def _number(text: str) -> list[int]:
    return [int(p) for p in text.split(".")]


def _is_172(head: str) -> bool:
    a, _, b = head.partition(".")
    return a == "172" and 16 <= int(b) < 32


def _squeezed(values: list[int], width: int) -> dict[int, int]:
    """Numbers of the same order and with the same common prefixes, in which a bit is 1 only where a neighbour has 0."""
    out: dict[int, int] = {}

    def place(some: list[int], bit: int, new: int) -> None:
        if bit < 0:
            out.update((v, new) for v in some)
            return
        cut = bisect_left(some, 1, key=lambda v: v >> bit & 1)
        zeros, ones = some[:cut], some[cut:]
        if zeros:
            place(zeros, bit - 1, new)
        if ones:
            place(ones, bit - 1, new | 1 << bit if zeros else new)

    if values:
        place(values, width - 1, 0)
    return out


def _like(text: str, digits: str) -> str:
    """These digits with the separators and the case of a text."""
    upper = any(c in "ABCDEF" for c in text)
    supply = iter(digits.upper() if upper else digits)
    return "".join(next(supply) if c in "0123456789abcdefABCDEF" else c for c in text)
