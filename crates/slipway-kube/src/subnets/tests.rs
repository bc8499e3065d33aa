//! The arithmetic, by example and by law.

use proptest::prelude::*;

use super::*;
use crate::providers::aws::slot as aws;

fn cidr(text: &str) -> Cidr {
    text.parse().expect("a network")
}

#[test]
fn networks_are_read_as_they_are_written() {
    for good in ["10.250.0.0/16", "0.0.0.0/0", "255.255.255.255/32", "10.0.0.2/31"] {
        assert_eq!(cidr(good).to_string(), good);
    }
    for bad in
        ["", "10.250.0.0", "10.250.0/16", "10.250.0.0/33", "10.250.0.0/", "10.250.0.0/+8", "10.0.0.0/016", "::/0"]
    {
        assert_eq!(bad.parse::<Cidr>(), Err(Error::NotANetwork(bad.to_owned())), "{bad}");
    }
}

#[test]
fn host_bits_are_refused_with_what_was_meant() {
    let said = "10.250.0.1/16".parse::<Cidr>().expect_err("refused").to_string();
    assert_eq!(said, "`10.250.0.1/16` has host bits set; write 10.250.0.0/16");
}

#[test]
fn usable_addresses_are_counted_as_in_the_reference() {
    assert_eq!(["10.0.0.0/24", "10.0.0.0/31", "10.0.0.1/32"].map(|text| cidr(text).usable()), [254, 2, 1]);
}

#[test]
fn the_worked_values() {
    let nodes = cidr("10.250.0.0/16");
    let shown = |slot| aws(nodes, slot).expect("fits").all().map(|subnet| subnet.to_string());
    assert_eq!(shown(0), ["10.250.0.0/19", "10.250.32.0/20", "10.250.48.0/20"]);
    assert_eq!(shown(2), ["10.250.128.0/19", "10.250.160.0/20", "10.250.176.0/20"]);
    assert_eq!(shown(3), ["10.250.192.0/22", "10.250.196.0/22", "10.250.200.0/22"]);
    assert_eq!(shown(7), ["10.250.240.0/22", "10.250.244.0/22", "10.250.248.0/22"]);
    assert_eq!(eighth(nodes, 7).expect("fits").to_string(), "10.250.224.0/19");
    let parts = |zones| equal_parts(nodes, zones).expect("fit").iter().map(Cidr::to_string).collect::<Vec<_>>();
    assert_eq!(parts(1), ["10.250.0.0/16"]);
    assert_eq!(parts(3), ["10.250.0.0/18", "10.250.64.0/18", "10.250.128.0/18"]);
}

#[test]
fn too_many_zones_and_wrong_sizes_are_refused() {
    let nodes = cidr("10.250.0.0/16");
    assert_eq!(aws(nodes, 8), Err(Error::Full(nodes)));
    assert_eq!(eighth(nodes, 8), Err(Error::Full(nodes)));
    assert_eq!(equal_parts(nodes, 4), Err(Error::Full(nodes)));
    assert_eq!(equal_parts(nodes, 0), Err(Error::Full(nodes)));
    for text in ["10.0.0.0/15", "10.0.0.0/25"] {
        assert_eq!(aws(cidr(text), 0), Err(Error::Prefix(cidr(text))));
        assert_eq!(eighth(cidr(text), 0), Err(Error::Prefix(cidr(text))));
    }
    assert_eq!(equal_parts(cidr("10.0.0.0/32"), 2), Err(Error::Full(cidr("10.0.0.0/32"))));
}

fn networks(prefixes: std::ops::RangeInclusive<u8>) -> impl Strategy<Value = Cidr> {
    (any::<u32>(), prefixes).prop_map(|(address, prefix)| {
        let size = 32 - u32::from(prefix);
        Cidr::at(if size == 32 { 0 } else { address >> size << size }, prefix)
    })
}

/// All subnets are networks of their own, inside, and no two share an address.
fn lawful(nodes: Cidr, subnets: &[Cidr]) -> Result<(), TestCaseError> {
    for (at, subnet) in subnets.iter().enumerate() {
        prop_assert_eq!(subnet.to_string().parse(), Ok(*subnet), "host bits in {}", subnet);
        prop_assert!(nodes.contains(*subnet), "{} is not in {}", subnet, nodes);
        for other in &subnets[..at] {
            prop_assert!(!subnet.overlaps(*other), "{} and {} overlap", subnet, other);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn subnets_are_disjoint_and_inside_for_every_network_and_number_of_zones(
        nodes in networks(16..=24), zones in 1..=MAX_ZONES,
    ) {
        let of_aws: Vec<_> = (0..zones).flat_map(|slot| aws(nodes, slot).expect("fits").all()).collect();
        lawful(nodes, &of_aws)?;
        let eighths: Vec<_> = (0..zones).map(|slot| eighth(nodes, slot).expect("fits")).collect();
        lawful(nodes, &eighths)?;
    }

    #[test]
    fn equal_parts_are_disjoint_and_inside(nodes in networks(0..=30), zones in 1..=3_usize) {
        lawful(nodes, &equal_parts(nodes, zones).expect("fit"))?;
    }

    #[test]
    fn what_is_printed_is_read(nodes in networks(0..=32)) {
        prop_assert_eq!(nodes.to_string().parse(), Ok(nodes));
    }
}

#[test]
fn every_prefix_and_number_of_zones_obeys_the_law() {
    for prefix in 16..=24 {
        let nodes = Cidr::at(u32::from(Ipv4Addr::new(10, 250, 0, 0)), prefix);
        let of_aws: Vec<_> = (0..MAX_ZONES).flat_map(|slot| aws(nodes, slot).expect("fits").all()).collect();
        lawful(nodes, &of_aws).expect("lawful");
        let eighths: Vec<_> = (0..MAX_ZONES).map(|slot| eighth(nodes, slot).expect("fits")).collect();
        lawful(nodes, &eighths).expect("lawful");
    }
}
