//! Which addresses are public. Only what is surely public is: a form nobody thought of is refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Azure answers machines of its own here, though the number is an ordinary public one.
const AZURE_METADATA: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// Whether an address belongs to the public internet, and not to this machine, its network or its cloud.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match (a, b, c) {
        // This network, private, loopback, multicast, reserved and broadcast.
        (0 | 10 | 127 | 224..=255, ..) => true,
        // Shared by the customers of a provider (and the metadata of some clouds).
        (100, 64..=127, _) => true,
        // Link-local, with the metadata of most clouds.
        (169, 254, _) => true,
        (172, 16..=31, _) | (192, 168, _) => true,
        // Protocol assignments, documentation, relays of 6to4, benchmarks.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => true,
        _ => false,
    };
    !is_special && address != AZURE_METADATA
}

/// Public addresses are those of `2000::/3`. That leaves out loopback, link-local, unique local and multicast as well as
/// every form with an IPv4 address inside that lies elsewhere (mapped, compatible, NAT64).
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let is_global = (0x2000..0x4000).contains(&a);
    let is_special = match (a, b) {
        // Teredo, benchmarks, ORCHID and other protocol assignments; documentation.
        (0x2001, 0..=0x01ff | 0x0db8) => true,
        // 6to4 carries an IPv4 address that may be anything.
        (0x2002, _) => true,
        (0x3fff, 0..=0x0fff) => true,
        _ => false,
    };
    is_global && !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_internet_is_public() {
        for public in ["1.1.1.1", "93.184.216.34", "100.63.0.1", "172.32.0.1", "2606:4700::1111", "2a00::1"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        let refused = [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ];
        for address in refused {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }
}
