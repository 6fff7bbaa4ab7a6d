//! What is compared of the files and texts that a run leaves: bytes without provenance, JSON without times.

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Fields of JSON and columns of tables that hold times, memory readings or the version of the program. They are left out
/// wherever they stand.
const MEASURED: [&str; 9] = [
    "seconds",
    "rows_per_second",
    "gigaflops",
    "memory_forecast",
    "bytes",
    "bytes_before",
    "writer",
    "provenance",
    "budget",
];

/// SHA-256 as 16 hexadecimal digits: 64 bits are enough to tell runs apart, and lines stay short.
pub fn short(hash: Sha256) -> String {
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// What a model file holds.
pub struct Model {
    /// The file without `writer`, `provenance` and the checksum that covers them.
    pub bytes: Vec<u8>,
}

/// Reads a model file or a file of moments (docs/format.md) and checks its length and checksum.
pub fn model(bytes: &[u8]) -> Result<Model> {
    const CHECKSUM: usize = 32;
    ensure!(bytes.len() > 32 + CHECKSUM, "a model file of {} bytes", bytes.len());
    let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
    ensure!(Sha256::digest(content)[..] == *checksum, "the checksum differs");
    let number = |at: usize| -> Result<usize> {
        let eight = content.get(at..at + 8).context("the file is too short")?;
        Ok(usize::try_from(u64::from_le_bytes(eight.try_into()?))?)
    };
    if &content[1..8] == b"MOMENT\n" {
        // The length of the model inside differs with its provenance.
        let length = number(16)?;
        let inner = model(content.get(32..32 + length).context("the file is too short")?)?;
        let rest = &content[32 + length..];
        return Ok(Model { bytes: [&content[..16], &content[24..32], &inner.bytes, rest].concat() });
    }
    ensure!(&content[1..8] == b"MERCER\n", "not a model file");
    let version = content[8];
    let header_at = if version == 1 { 32 } else { 40 };
    let length = number(12)? & 0xFFFF_FFFF;
    let header = content.get(header_at..header_at + length).context("the header is too short")?;
    let mut header: Value = serde_json::from_slice(header).context("the header")?;
    if let Some(map) = header.as_object_mut() {
        map.shift_remove("writer");
        map.shift_remove("provenance");
    }
    let rest = &content[header_at + length..];
    let bytes = [&content[..12], &content[16..header_at], header.to_string().as_bytes(), rest].concat();
    Ok(Model { bytes })
}

/// An ONNX file without producer, version and description: a protobuf message without its fields 2, 3 and 6.
pub fn onnx(bytes: &[u8]) -> Result<Vec<u8>> {
    let (mut kept, mut at) = (Vec::new(), 0);
    let varint = |at: &mut usize| -> Result<usize> {
        let mut value = 0;
        for shift in (0..63).step_by(7) {
            let byte = *bytes.get(*at).context("the file is too short")?;
            *at += 1;
            value |= usize::from(byte & 127) << shift;
            if byte < 128 {
                break;
            }
        }
        Ok(value)
    };
    while at < bytes.len() {
        let from = at;
        let tag = varint(&mut at)?;
        match tag & 7 {
            0 => {
                varint(&mut at)?;
            }
            2 => {
                let length = varint(&mut at)?;
                at += length;
            }
            other => anyhow::bail!("a field of wire type {other}"),
        }
        if ![2, 3, 6].contains(&(tag >> 3)) {
            kept.extend_from_slice(bytes.get(from..at).context("the file is too short")?);
        }
    }
    Ok(kept)
}

/// JSON without what is measured.
pub fn unmeasured(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| !MEASURED.contains(&key.as_str()));
            Value::Object(kept.map(|(key, value)| (key.clone(), unmeasured(value))).collect::<Map<_, _>>())
        }
        Value::Array(all) => Value::Array(all.iter().map(unmeasured).collect()),
        other => other.clone(),
    }
}

/// All numbers of JSON but those in fields that are `left_out`.
pub fn numbers(value: &Value, left_out: &[&str], into: &mut Vec<f64>) {
    match value {
        Value::Number(number) => into.extend(number.as_f64()),
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| !left_out.contains(&key.as_str()));
            kept.for_each(|(_, value)| numbers(value, left_out, into));
        }
        Value::Array(all) => all.iter().for_each(|value| numbers(value, left_out, into)),
        _ => {}
    }
}

/// A table in CSV: its column names, and its rows without the columns that hold times.
pub struct Csv {
    pub names: String,
    pub rows: String,
}

impl Csv {
    /// The sum of the last column, if it has numbers with decimal points.
    pub fn sum(&self) -> Option<f64> {
        if self.names.contains(';') {
            return None;
        }
        let last = |line: &str| line.rsplit([',', '\t']).next().and_then(|cell| cell.parse::<f64>().ok());
        self.rows.lines().map(last).sum()
    }
}

pub fn csv(text: &str) -> Csv {
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    let measured: Vec<usize> =
        header.split(',').enumerate().filter(|(_, name)| MEASURED.contains(name)).map(|(index, _)| index).collect();
    let rest = |line: &str| -> String {
        if measured.is_empty() {
            return line.to_owned();
        }
        let cells = line.split(',').enumerate().filter(|(index, _)| !measured.contains(index));
        cells.map(|(_, cell)| cell).collect::<Vec<_>>().join(",")
    };
    let rows = lines.map(|line| rest(line) + "\n").collect();
    Csv { names: rest(header), rows }
}

/// The first number in JSON under one of these names, in the order of the names.
pub fn first(value: &Value, names: &[&str]) -> Option<f64> {
    names.iter().find_map(|name| find(value, name))
}

fn find(value: &Value, name: &str) -> Option<f64> {
    match value {
        Value::Object(map) => {
            map.get(name).and_then(Value::as_f64).or_else(|| map.values().find_map(|value| find(value, name)))
        }
        Value::Array(all) => all.iter().find_map(|value| find(value, name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_provenance_are_left_out() {
        let value: Value = serde_json::from_str(r#"{"a": 1, "seconds": 2, "b": [{"seconds": 3, "c": "d"}]}"#).unwrap();
        assert_eq!(unmeasured(&value).to_string(), r#"{"a":1,"b":[{"c":"d"}]}"#);
        let table = csv("a,seconds,b\n1,2,3\n");
        assert_eq!((table.names.as_str(), table.rows.as_str()), ("a,b", "1,3\n"));
        // Field 1 (a number) stays, field 3 (text) goes.
        assert_eq!(onnx(&[8, 7, 26, 2, 65, 66, 8, 9]).unwrap(), [8, 7, 8, 9]);
        assert_eq!(first(&value, &["z", "c", "a"]), Some(1.0));
    }

    fn file(writer: &str) -> Vec<u8> {
        let header = format!(r#"{{"writer":"{writer}","kernel":"gaussian"}}"#);
        let mut bytes = b"\x93MERCER\n\x01\0\0\0".to_vec();
        bytes.extend((header.len() as u32).to_le_bytes());
        bytes.extend([0; 16]);
        bytes.extend(header.as_bytes());
        let checksum = Sha256::digest(&bytes);
        bytes.extend(checksum);
        bytes
    }

    #[test]
    fn models_of_two_versions_are_the_same() {
        assert_eq!(model(&file("a")).unwrap().bytes, model(&file("bcd")).unwrap().bytes);
        let mut damaged = file("a");
        damaged[40] ^= 1;
        assert!(model(&damaged).is_err());
    }
}
