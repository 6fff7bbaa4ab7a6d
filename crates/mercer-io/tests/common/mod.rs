//! What several tests need.
#![allow(dead_code, reason = "no test needs all of it")]

use std::io::Write;

use mercer::data::{Column, Frame};
use mercer_io::{ReadOptions, Result, Table, read_bytes};

/// Reads bytes with the default options.
pub fn read(bytes: &[u8], name: &str) -> Result<Table> {
    read_bytes(bytes.to_vec(), name, &ReadOptions::default())
}

/// The frame in a CSV text.
pub fn frame(text: &str) -> Frame {
    read(text.as_bytes(), "t.csv").unwrap().frame
}

/// The sentence with which bytes are refused.
pub fn problem(bytes: &[u8], name: &str) -> String {
    read(bytes, name).unwrap_err().to_string()
}

/// A column's numbers; NaN as `None`, so that they can be compared.
pub fn numbers(frame: &Frame, name: &str) -> Vec<Option<f64>> {
    match frame.column(name).unwrap() {
        Column::Number(cells) => cells.iter().map(|&cell| (!cell.is_nan()).then_some(cell)).collect(),
        Column::Text(cells) => panic!("{name} is text: {cells:?}"),
    }
}

/// A column's texts.
pub fn texts(frame: &Frame, name: &str) -> Vec<Option<String>> {
    match frame.column(name).unwrap() {
        Column::Text(cells) => cells.clone(),
        Column::Number(cells) => panic!("{name} is numbers: {cells:?}"),
    }
}

/// Bytes packed with gzip.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Numbers that look random and are the same in every run (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Valid bytes with a few of them cut, changed, put in or repeated.
pub fn damage(random: &mut Random, seed: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.next() as u8),
            2 if !bytes.is_empty() => bytes[at] = random.next() as u8,
            3 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            _ => {
                let from = random.below(bytes.len());
                let piece = bytes[from..].iter().take(random.below(30)).copied().collect::<Vec<_>>();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

/// How many random files to try; `MERCER_IO_ROUNDS` asks for a longer look.
pub fn rounds() -> usize {
    std::env::var("MERCER_IO_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(20_000)
}
