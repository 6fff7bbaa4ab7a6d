//! Which rows are held out together.

use std::collections::HashMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{FoldRule, Order};
use crate::base::error::{Error, Result};

/// Sets of rows, each of which is held out once. Within one repeat every row is in exactly one of them; of rows in order of time the
/// first ones are in none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folds {
    /// The held-out rows, in rising order.
    pub groups: Vec<Vec<usize>>,
    /// How many times the whole data was divided.
    pub repeats: usize,
    /// The rows that predict each fold, where those are not all others.
    pub(super) training: Option<Vec<Vec<usize>>>,
}

impl Folds {
    /// Folds whose rows are predicted from all others.
    pub fn of(groups: Vec<Vec<usize>>, repeats: usize) -> Self {
        Folds { groups, repeats, training: None }
    }

    /// Whether only earlier rows predict a fold.
    pub fn is_forward(&self) -> bool {
        self.training.is_some()
    }

    /// The rows that predict a fold, in rising order, of a table with this number of rows.
    pub fn kept(&self, fold: usize, rows: usize) -> Vec<usize> {
        if let Some(training) = &self.training {
            return training[fold].clone();
        }
        let mut is_held_out = vec![false; rows];
        self.groups[fold].iter().for_each(|row| is_held_out[*row] = true);
        (0..rows).filter(|row| !is_held_out[*row]).collect()
    }

    /// The weighted mean squared error of the simplest forecast: every held-out row by the mean of the rows that predict its fold.
    pub(crate) fn mse_of_means(&self, y: &[f64], weights: Option<&[f64]>) -> f64 {
        let weight = |row: usize| weights.map_or(1.0, |w| w[row]);
        let (mut squares, mut total) = (0.0, 0.0);
        for (fold, held_out) in self.groups.iter().enumerate() {
            let kept = self.kept(fold, y.len());
            let sum: f64 = kept.iter().map(|row| weight(*row)).sum();
            let mean = kept.iter().map(|row| weight(*row) / sum * y[*row]).sum::<f64>();
            squares += held_out.iter().map(|row| weight(*row) * (y[*row] - mean).powi(2)).sum::<f64>();
            total += held_out.iter().map(|row| weight(*row)).sum::<f64>();
        }
        squares / total
    }

    /// The same folds of a table in which row i has the place `places[i]`.
    pub(crate) fn moved(&self, places: &[usize]) -> Self {
        let moved = |rows: &Vec<usize>| rows.iter().map(|row| places[*row]).collect();
        let training = self.training.as_ref().map(|training| training.iter().map(moved).collect());
        Folds { groups: self.groups.iter().map(moved).collect(), repeats: self.repeats, training }
    }

    /// All rows that are held out, each once, in rising order.
    pub fn held_out_rows(&self) -> Vec<usize> {
        let mut rows: Vec<usize> = self.groups.iter().flatten().copied().collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// Draws folds by a rule. Rows with the same entry of `group` stay together; portable for a given seed.
    pub fn draw(rule: &FoldRule, rows: usize, group: Option<&[u32]>, seed: u64) -> Result<Self> {
        if rows < 2 {
            return Err(Error::Empty("folds need at least two rows".into()));
        }
        if let Some(group) = group.filter(|group| group.len() != rows) {
            return Err(Error::shape("the groups", format!("one per row ({rows})"), group.len()));
        }
        if rule.is_each_group() && group.is_none() {
            return Err(Error::argument("the criterion logo", "used with rows that have groups", "none"));
        }
        let units = units(rows, group);
        if units.len() < 2 {
            return Err(Error::argument("the groups", "at least two, so that one can be held out", units.len()));
        }
        if let Order::Forward(forward) = &rule.order {
            return forward.folds(rule.folds, &units, group.is_some());
        }
        let count = if rule.folds == 0 { units.len() } else { rule.folds };
        if count > units.len() {
            let what = if group.is_some() { "groups" } else { "rows" };
            let must = format!("at most the number of {what}, {}", units.len());
            return Err(Error::argument("the number of folds", must, count));
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let in_order = rule.order == Order::Blocks;
        let repeats = if in_order || rule.folds == 0 { 1 } else { rule.repeats };
        let mut groups = Vec::with_capacity(count * repeats);
        for _ in 0..repeats {
            let mut order: Vec<usize> = (0..units.len()).collect();
            if !in_order && rule.folds != 0 {
                shuffle(&mut order, &mut random);
            }
            let parts = if in_order { blocks(&order, &units, rows, count) } else { dealt(&order, &units, count) };
            groups.extend(parts);
        }
        Ok(Folds::of(groups, repeats))
    }

    /// Ten, or five … random folds without groups.
    pub fn random(rows: usize, folds: usize, seed: u64) -> Result<Self> {
        Folds::draw(&FoldRule::random(folds), rows, None, seed)
    }
}

/// Rows that must stay together, in the order of their first row.
fn units(rows: usize, group: Option<&[u32]>) -> Vec<Vec<usize>> {
    let Some(group) = group else { return (0..rows).map(|row| vec![row]).collect() };
    let mut place: HashMap<u32, usize> = HashMap::new();
    let mut units: Vec<Vec<usize>> = Vec::new();
    for (row, code) in group.iter().enumerate() {
        let index = *place.entry(*code).or_insert_with(|| {
            units.push(Vec::new());
            units.len() - 1
        });
        units[index].push(row);
    }
    units
}

/// Consecutive units, cut where the rows are divided most evenly.
fn blocks(order: &[usize], units: &[Vec<usize>], rows: usize, count: usize) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut passed = 0;
    for (position, unit) in order.iter().enumerate() {
        // Every fold after this one still needs a unit of its own.
        let by_rows = passed * count / rows;
        let latest = position.min(count - 1);
        let earliest = (count + position).saturating_sub(order.len());
        parts[by_rows.clamp(earliest, latest)].extend(&units[*unit]);
        passed += units[*unit].len();
    }
    sorted(parts)
}

/// Large units first, each to the fold that has the fewest rows so far; ties go round.
fn dealt(order: &[usize], units: &[Vec<usize>], count: usize) -> Vec<Vec<usize>> {
    let mut order = order.to_vec();
    order.sort_by_key(|unit| std::cmp::Reverse(units[*unit].len()));
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); count];
    for unit in order {
        let smallest = (0..count).min_by_key(|part| parts[*part].len()).unwrap_or(0);
        parts[smallest].extend(&units[unit]);
    }
    sorted(parts)
}

fn sorted(mut parts: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    parts.iter_mut().for_each(|part| part.sort_unstable());
    parts
}

/// Fisher–Yates with numbers that do not depend on the platform.
#[doc(hidden)]
pub fn shuffle(items: &mut [usize], random: &mut ChaCha8Rng) {
    for i in (1..items.len()).rev() {
        let j = (random.next_u64() % (i as u64 + 1)) as usize;
        items.swap(i, j);
    }
}

/// The places of `count` items in an order as likely as any other, none of them twice: a shuffle that goes only as far as it is
/// needed.
pub(crate) fn drawn(count: usize, random: &mut ChaCha8Rng) -> impl Iterator<Item = usize> {
    let mut order: Vec<usize> = (0..count).collect();
    (0..count).map(move |place| {
        let other = place + (random.next_u64() % (count - place) as u64) as usize;
        order.swap(place, other);
        order[place]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_partition(folds: &Folds, rows: usize) -> bool {
        let mut counts = vec![0; rows];
        folds.groups.iter().flatten().for_each(|row| counts[*row] += 1);
        counts.iter().all(|count| *count == folds.repeats)
    }

    #[test]
    fn every_row_is_held_out_once_per_repeat_in_folds_of_even_size() {
        use Order::{Blocks, Random};
        for (rows, folds, repeats, order) in
            [(10, 3, 2, Random), (10, 10, 1, Random), (11, 4, 1, Blocks), (2, 2, 1, Blocks)]
        {
            let drawn = Folds::draw(&FoldRule { folds, repeats, order }, rows, None, 7).unwrap();
            assert!(is_partition(&drawn, rows));
            assert!(drawn.groups.iter().all(|group| (rows / folds..=rows / folds + 1).contains(&group.len())));
        }
        let blocks = Folds::draw(&FoldRule { folds: 3, repeats: 5, order: Blocks }, 9, None, 7).unwrap();
        assert_eq!(blocks.groups, vec![vec![0, 1, 2], vec![3, 4, 5], vec![6, 7, 8]]);
    }

    #[test]
    fn drawn_places_are_all_different_and_as_likely_as_others() {
        use rand_chacha::rand_core::SeedableRng;
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let mut counts = [0; 10];
        for _ in 0..2000 {
            let mut few: Vec<usize> = drawn(10, &mut random).take(4).collect();
            few.iter().for_each(|place| counts[*place] += 1);
            few.sort_unstable();
            few.dedup();
            assert_eq!(few.len(), 4);
        }
        assert!(counts.iter().all(|count| (700..900).contains(count)), "{counts:?}");
        assert_eq!(drawn(7, &mut random).count(), 7);
    }

    #[test]
    fn the_same_seed_draws_the_same_folds_for_ever() {
        let drawn = Folds::random(8, 3, 1).unwrap();
        assert_eq!(drawn, Folds::random(8, 3, 1).unwrap());
        assert_eq!(drawn.groups, VALUE_STABLE.map(|rows| rows.to_vec()).to_vec());
    }

    const VALUE_STABLE: [&[usize]; 3] = [&[0, 4, 7], &[1, 2, 5], &[3, 6]];

    #[test]
    fn groups_stay_together() {
        let group: Vec<u32> = (0..30).map(|row| row % 7).collect();
        let drawn = Folds::draw(&FoldRule { folds: 3, repeats: 2, order: Order::Random }, 30, Some(&group), 1).unwrap();
        assert!(is_partition(&drawn, 30));
        for fold in &drawn.groups {
            for code in 0..7 {
                let inside = fold.iter().filter(|row| group[**row] == code).count();
                assert!(inside == 0 || inside == group.iter().filter(|c| **c == code).count());
            }
        }
        let all = Folds::draw(&FoldRule::random(0), 30, Some(&group), 1).unwrap();
        assert_eq!(all.groups.len(), 7);
        assert!(Folds::draw(&FoldRule::random(8), 30, Some(&group), 1).is_err());
        assert!(Folds::draw(&FoldRule::random(2), 30, Some(&[0; 30]), 1).is_err());
    }
}
