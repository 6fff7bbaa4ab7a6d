//! A sample of the rows of tables, in one pass and in constant memory.
//!
//! Every row has a random key, by its place; rows with keys below a threshold are kept, and the threshold is halved whenever
//! twice as many are there as are wanted. The rows with the least keys are the sample.

use mercer::data::Frame;
use mercer_io::ReadOptions;

pub fn draw(tables: &[String], reading: &ReadOptions, count: usize, part: usize, seed: u64) -> anyhow::Result<Frame> {
    let mut kept: Option<Frame> = None;
    let mut keys: Vec<u64> = Vec::new();
    let mut threshold = u64::MAX;
    let mut place = 0_u64;
    for table in tables {
        let mut parts = mercer_io::parts::open(table, reading)?;
        let mut is_first = true;
        while let Some(frame) = parts.next(part)? {
            if std::mem::take(&mut is_first) {
                crate::files::notes(table, parts.notes());
            }
            let own: Vec<u64> = (0..frame.rows() as u64).map(|row| key(place + row, seed)).collect();
            place += frame.rows() as u64;
            let chosen: Vec<usize> = (0..frame.rows()).filter(|row| own[*row] <= threshold).collect();
            if chosen.is_empty() {
                continue;
            }
            keys.extend(chosen.iter().map(|row| own[*row]));
            let rows = frame.select_rows(&chosen);
            match &mut kept {
                Some(kept) => kept.append(&rows).map_err(|error| anyhow::anyhow!("{table}: {error}"))?,
                None => kept = Some(rows),
            }
            while keys.len() > 2 * count {
                threshold /= 2;
                kept = kept.map(|frame| thin(&frame, &mut keys, threshold));
            }
        }
    }
    let Some(frame) = kept else { anyhow::bail!("the tables have no rows; at least one is needed") };
    if keys.len() <= count {
        return Ok(frame);
    }
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    Ok(thin(&frame, &mut keys, sorted[count - 1]))
}

/// The rows whose keys are not above the threshold.
fn thin(frame: &Frame, keys: &mut Vec<u64>, threshold: u64) -> Frame {
    let rows: Vec<usize> = (0..keys.len()).filter(|row| keys[*row] <= threshold).collect();
    keys.retain(|key| *key <= threshold);
    frame.select_rows(&rows)
}

/// splitmix64 of a place.
fn key(place: u64, seed: u64) -> u64 {
    let mut z = place.wrapping_add(seed.wrapping_mul(0xD134_2543_DE82_EF95)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
