//! Whether the scaling that the warm-up decided still fits the rows, and the rows that mend it where it does not.

use crate::base::error::Result;
use crate::data::{Encoder, Feature, Frame, Scale};

/// A standard deviation may become this many times what the scaling takes it for, or this part of it.
const DEVIATION: f64 = 3.0;
/// A range may become this many times what the scaling takes it for: below it, splines cut values off.
const RANGE: f64 = 2.0;

/// The numbers of each scaled column, in the units of its scaling.
#[derive(Debug, Clone)]
pub(super) struct Scales {
    columns: Vec<Watched>,
}

#[derive(Debug, Clone)]
struct Watched {
    name: String,
    shift: f64,
    scale: f64,
    was_constant: bool,
    by_range: bool,
    count: usize,
    mean: f64,
    /// Σ (v − mean)².
    squares: f64,
    low: f64,
    high: f64,
}

impl Scales {
    /// For an encoder as it was learned, before its constant columns are read with scale 1. Nothing is watched where nothing
    /// is scaled.
    pub fn of(encoder: &Encoder) -> Self {
        let watched = |feature: &Feature| match feature {
            Feature::Number { name, log: None, shift, scale, .. } if encoder.scale != Scale::None => Some(Watched {
                name: name.clone(),
                shift: *shift,
                scale: if feature.is_constant() { 1.0 } else { *scale },
                was_constant: feature.is_constant(),
                by_range: encoder.scale == Scale::Unit,
                count: 0,
                mean: 0.0,
                squares: 0.0,
                low: f64::INFINITY,
                high: f64::NEG_INFINITY,
            }),
            _ => None,
        };
        Scales { columns: encoder.features.iter().filter_map(watched).collect() }
    }

    /// The cells of the watched columns, scaled; NaN where one is missing.
    pub fn read(&self, encoder: &Encoder, frame: &Frame) -> Result<Vec<Vec<f64>>> {
        let cells = |column: &Watched| {
            let numbers = encoder.numbers(frame, &column.name)?;
            Ok(numbers.iter().map(|x| (x - column.shift) / column.scale).collect())
        };
        self.columns.iter().map(cells).collect()
    }

    /// Takes a row in.
    pub fn add(&mut self, cells: &[Vec<f64>], row: usize) {
        for (column, cells) in self.columns.iter_mut().zip(cells).filter(|(_, cells)| cells[row].is_finite()) {
            let value = cells[row];
            column.count += 1;
            let step = value - column.mean;
            column.mean += step / column.count as f64;
            column.squares += step * (value - column.mean);
            (column.low, column.high) = (column.low.min(value), column.high.max(value));
        }
    }

    /// The columns whose scaling is wrong by now.
    pub fn wrong(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().filter(|column| column.is_wrong()).map(|column| column.name.as_str())
    }
}

impl Watched {
    fn is_wrong(&self) -> bool {
        let range = self.high - self.low;
        if self.was_constant {
            return range > 0.0;
        }
        if self.by_range {
            return range > RANGE;
        }
        let deviation = (self.squares / self.count.max(1) as f64).sqrt();
        self.count > 1 && !(1.0 / DEVIATION..=DEVIATION).contains(&deviation)
    }
}

/// Rows as they were read: all of them, or a uniform sample. Each row has a random priority; those with the lowest stay.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    rows: Frame,
    priorities: Vec<u64>,
    /// How many rows a sample has at most.
    limit: usize,
    /// Rows with a higher priority are not kept.
    threshold: u64,
    /// Rows that were offered.
    offered: u64,
}

impl Kept {
    pub fn new(rows: Frame, limit: usize) -> Self {
        let offered = rows.rows() as u64;
        Kept { priorities: (0..offered).map(priority).collect(), rows, limit, threshold: u64::MAX, offered }
    }

    /// Takes one row of a table; an error if the table does not have the columns of those before.
    pub fn add(&mut self, frame: &Frame, row: usize) -> Result<()> {
        let priority = priority(self.offered);
        self.offered += 1;
        if priority > self.threshold {
            return Ok(());
        }
        self.rows.append(&frame.select_rows(&[row]))?;
        self.priorities.push(priority);
        if self.rows.rows() >= 2 * self.limit {
            let places = self.lowest();
            self.rows = self.rows.select_rows(&places);
            self.priorities = places.iter().map(|place| self.priorities[*place]).collect();
            self.threshold = self.priorities.iter().copied().max().unwrap_or(u64::MAX);
        }
        Ok(())
    }

    /// The sample, and this row of a table, which is its last.
    pub fn sample_with(&self, frame: &Frame, row: usize) -> Result<Frame> {
        let mut places = self.lowest();
        places.truncate(self.limit.max(2) - 1);
        let mut sample = self.rows.select_rows(&places);
        sample.append(&frame.select_rows(&[row]))?;
        Ok(sample)
    }

    /// The rows of the lowest priorities, as many as the limit allows, in the order in which they came.
    fn lowest(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.priorities.len()).collect();
        if places.len() > self.limit {
            places.select_nth_unstable_by_key(self.limit - 1, |place| self.priorities[*place]);
            places.truncate(self.limit);
            places.sort_unstable();
        }
        places
    }
}

/// SplitMix64.
fn priority(index: u64) -> u64 {
    let mut state = index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Column;

    #[test]
    fn what_is_kept_is_a_uniform_sample() {
        let frame = |from: usize, to: usize| {
            let mut frame = Frame::new(to - from);
            frame.push("x", Column::Number((from..to).map(|i| i as f64).collect())).unwrap();
            frame
        };
        let mut kept = Kept::new(frame(0, 50), 200);
        let rest = frame(50, 20_000);
        for row in 0..rest.rows() {
            if row == 100 {
                let all = kept.sample_with(&rest, row).unwrap();
                assert_eq!(all, frame(0, 151), "all rows as long as they are few");
            }
            kept.add(&rest, row).unwrap();
            assert!(kept.rows.rows() < 400);
        }
        let sample = kept.sample_with(&rest, 19_949).unwrap();
        let Column::Number(values) = sample.column("x").unwrap() else { panic!() };
        assert_eq!((values.len(), values[199]), (200, 19_999.0));
        assert!(values.windows(2).all(|pair| pair[0] < pair[1]));
        let early = values.iter().filter(|x| **x < 10_000.0).count();
        assert!((75..=125).contains(&early), "{early}");
    }
}
