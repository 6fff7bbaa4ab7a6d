//! Rows of K that are kept in memory while working sets come and go.

use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Sub};

use super::KernelRows;

/// A number of a kept row, and of the lists that belong to a working set.
pub(super) trait Element:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + Into<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    /// What a sum of a few numbers about 1 is exact to.
    const ROUNDING: f64;
    fn of(value: f64) -> Self;
    fn fill(source: &dyn KernelRows, rows: &[usize], out: &mut [&mut [Self]]);
    /// A row that is in memory anyway.
    fn row(source: &dyn KernelRows, i: usize) -> Option<&[Self]>;
}

impl Element for f64 {
    const ROUNDING: f64 = 0.0;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }

    fn fill(source: &dyn KernelRows, rows: &[usize], out: &mut [&mut [Self]]) {
        source.fill(rows, out);
    }

    fn row(source: &dyn KernelRows, i: usize) -> Option<&[Self]> {
        source.row(i)
    }
}

impl Element for f32 {
    const ROUNDING: f64 = 2e-7;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value as f32
    }

    fn fill(source: &dyn KernelRows, rows: &[usize], out: &mut [&mut [Self]]) {
        source.fill_single(rows, out);
    }

    fn row(source: &dyn KernelRows, i: usize) -> Option<&[Self]> {
        source.row_single(i)
    }
}

/// Rows that can be looked at once they were asked for.
pub(super) trait Store: Sync {
    type Element: Element;
    fn len(&self) -> usize;
    fn diagonal(&self) -> Vec<f64>;
    /// How many rows can be held together.
    fn capacity(&self) -> usize;
    /// Makes these rows available until the next call.
    fn need(&mut self, rows: &[usize]);
    fn row(&self, i: usize) -> &[Self::Element];
}

/// Rows of a matrix that is in memory anyway.
pub(super) struct Borrowed<'a, T> {
    rows: &'a dyn KernelRows,
    element: PhantomData<T>,
}

impl<'a, T: Element> Borrowed<'a, T> {
    pub fn new(rows: &'a dyn KernelRows) -> Self {
        Borrowed { rows, element: PhantomData }
    }
}

impl<T: Element> Store for Borrowed<'_, T> {
    type Element = T;

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn diagonal(&self) -> Vec<f64> {
        self.rows.diagonal()
    }

    fn capacity(&self) -> usize {
        self.rows.len()
    }

    fn need(&mut self, _: &[usize]) {}

    fn row(&self, i: usize) -> &[T] {
        T::row(self.rows, i).unwrap_or_default()
    }
}

/// Rows as they were computed, the ones used last.
pub(super) struct Kept<'a, T> {
    source: &'a dyn KernelRows,
    rows: Vec<Vec<T>>,
    last_use: Vec<u64>,
    clock: u64,
    held: usize,
    capacity: usize,
    /// How many rows are held before old ones make room: most are needed once, and fresh memory is dear.
    comfort: usize,
    /// Rows that were computed before.
    regrets: usize,
}

/// Fewer rows than this are never held, whatever the budget.
const LEAST: usize = 64;
/// Rows that are held in the beginning, and the share of them that, when computed again, doubles their number.
const COMFORT: usize = 4096;
const REGRET_SHARE: usize = 8;

impl<'a, T: Element> Kept<'a, T> {
    pub fn new(source: &'a dyn KernelRows, memory: u64) -> Self {
        let n = source.len();
        let row = (n * size_of::<T>()).max(1) as u64;
        let capacity = usize::try_from(memory / row).unwrap_or(usize::MAX).clamp(LEAST, n.max(LEAST));
        let rows = (0..n).map(|_| Vec::new()).collect();
        let comfort = COMFORT.min(capacity);
        Kept { source, rows, last_use: vec![0; n], clock: 0, held: 0, capacity, comfort, regrets: 0 }
    }

    /// The storage of the row that was not used for longest, among those not used now.
    fn give_up(&mut self, count: usize) -> Vec<Vec<T>> {
        let mut held: Vec<usize> =
            (0..self.rows.len()).filter(|i| !self.rows[*i].is_empty() && self.last_use[*i] < self.clock).collect();
        held.sort_by_key(|i| (self.last_use[*i], *i));
        held.truncate(count);
        self.held -= held.len();
        held.into_iter().map(|i| std::mem::take(&mut self.rows[i])).collect()
    }
}

impl<T: Element> Store for Kept<'_, T> {
    type Element = T;

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn diagonal(&self) -> Vec<f64> {
        self.source.diagonal()
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn need(&mut self, rows: &[usize]) {
        self.clock += 1;
        let missing: Vec<usize> = rows.iter().copied().filter(|row| self.rows[*row].is_empty()).collect();
        self.regrets += missing.iter().filter(|row| self.last_use[**row] > 0).count();
        for row in rows {
            self.last_use[*row] = self.clock;
        }
        if missing.is_empty() {
            return;
        }
        if self.regrets > self.comfort / REGRET_SHARE {
            self.comfort = (2 * self.comfort).min(self.capacity);
            self.regrets = 0;
        }
        let excess = (self.held + missing.len()).saturating_sub(self.comfort);
        let mut storage = self.give_up(excess);
        let n = self.rows.len();
        let mut fresh: Vec<Vec<T>> =
            missing.iter().map(|_| storage.pop().unwrap_or_else(|| vec![T::default(); n])).collect();
        let mut slices: Vec<&mut [T]> = fresh.iter_mut().map(Vec::as_mut_slice).collect();
        T::fill(self.source, &missing, &mut slices);
        self.held += missing.len();
        for (row, values) in missing.into_iter().zip(fresh) {
            self.rows[row] = values;
        }
    }

    fn row(&self, i: usize) -> &[T] {
        &self.rows[i]
    }
}
