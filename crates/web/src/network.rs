//! Networks, to tell whether an address is inside one.

use std::net::IpAddr;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: u128,
    prefix: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an address or a network such as 10.0.0.0/8")]
pub struct BadNetwork;

impl Network {
    pub fn contains(&self, address: IpAddr) -> bool {
        let mask = u128::MAX.checked_shl(128 - self.prefix).unwrap_or(0);
        bits(address) & mask == self.address & mask
    }
}

/// IPv4 as its place in IPv6, which is also how a dual-stack socket shows it.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

impl FromStr for Network {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Self, BadNetwork> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| BadNetwork)?;
        let (width, before) = if address.is_ipv4() {
            (32, 96)
        } else {
            (128, 0)
        };
        let prefix = match prefix {
            Some(prefix) => prefix.parse::<u32>().map_err(|_| BadNetwork)?,
            None => width,
        };
        if prefix > width {
            return Err(BadNetwork);
        }
        Ok(Self {
            address: bits(address),
            prefix: before + prefix,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_inside_its_network_and_no_other() {
        let inside = |network: &str, address: &str| {
            let network: Network = network.parse().unwrap();
            network.contains(address.parse().unwrap())
        };
        assert!(inside("10.0.0.0/8", "10.200.3.4"));
        assert!(inside("10.0.0.0/8", "::ffff:10.1.1.1"));
        assert!(inside("192.168.1.7", "192.168.1.7"));
        assert!(inside("fd00::/8", "fd12::1"));
        assert!(inside("0.0.0.0/0", "8.8.8.8"));
        assert!(!inside("0.0.0.0/0", "fd12::1"));
        assert!(!inside("10.0.0.0/8", "11.0.0.1"));
        assert!(!inside("192.168.1.7", "192.168.1.8"));
        for bad in ["", "10.0.0.0/33", "ten", "10.0.0.0/-1", "::/129"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }
}
