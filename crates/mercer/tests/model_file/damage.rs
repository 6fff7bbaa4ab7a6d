//! E2: damage to a file, and files that are no models.

use mercer::format::{FormatError, from_bytes, to_bytes};

use crate::parts::{CHECKSUM, seal};
use crate::samples::small_samples;

#[test]
fn every_flipped_bit_is_noticed() {
    let (mut tried, mut rejected) = (0, 0);
    for sample in small_samples() {
        let mut bytes = to_bytes(&sample.model).unwrap();
        assert!(from_bytes(&bytes).is_ok(), "{}: the file itself must load", sample.name);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                tried += 1;
                match from_bytes(&bytes) {
                    Err(_) => rejected += 1,
                    Ok(_) => panic!("{}: bit {bit} of byte {at} flipped, and it loads", sample.name),
                }
                bytes[at] ^= 1 << bit;
            }
        }
    }
    println!("{tried} flipped bits");
    assert_eq!(rejected, tried);
    assert!(tried > 7 * 8 * 600, "{tried} bits were tried");
}

#[test]
fn every_cut_and_every_addition_is_noticed() {
    let mut tried = 0;
    for sample in small_samples() {
        let bytes = to_bytes(&sample.model).unwrap();
        for length in 0..bytes.len() {
            let error = from_bytes(&bytes[..length]).err();
            let error = error.unwrap_or_else(|| panic!("{}: cut to {length} bytes, and it loads", sample.name));
            assert!(matches!(error, FormatError::NotAModel | FormatError::Length { .. }), "{length}: {error:?}");
            tried += 1;
        }
        for extra in [vec![0], vec![0; 8], vec![0; 64], bytes.clone()] {
            let mut longer = bytes.clone();
            longer.extend(extra);
            assert!(matches!(from_bytes(&longer), Err(FormatError::Length { .. })), "{}", sample.name);
            tried += 1;
        }
    }
    println!("{tried} cuts and additions");
    assert!(tried > 7 * 600, "{tried} lengths were tried");
}

#[test]
fn other_files_and_versions_are_named() {
    let bytes = to_bytes(&small_samples()[0].model).unwrap();
    assert_eq!(from_bytes(b"").unwrap_err(), FormatError::NotAModel);
    assert_eq!(from_bytes(b"a,b\n1,2\n").unwrap_err(), FormatError::NotAModel);
    assert_eq!(from_bytes(&[0; 4096]).unwrap_err(), FormatError::NotAModel);
    for version in [0_u32, 3, u32::MAX] {
        let mut content = bytes[..bytes.len() - CHECKSUM].to_vec();
        content[8..12].copy_from_slice(&version.to_le_bytes());
        let error = from_bytes(&seal(content)).unwrap_err();
        assert_eq!(error, FormatError::Version(version));
        assert!(error.to_string().contains(&format!("version {version}")), "{error}");
    }
}
