//! What leave-one-out needs of V, row by row, for several shifts at once: V is gone through once, some rows at a time,
//! which stay in a core's own cache for every shift.

use rayon::prelude::*;

use super::{BandForm, LANES, Matrix, STEP, ShiftedBand, vectorize};
use crate::linalg::scale_by_power_of_two;

/// Bytes of V that are kept at hand.
const AT_HAND: usize = 1 << 20;

/// One shift, and coordinates that go through V with it.
pub(crate) struct Shift<'a> {
    pub factor: ShiftedBand<'a>,
    /// n × c.
    pub coordinates: Matrix,
}

/// For one shift: the diagonal of (K + γI)⁻¹, and V times the coordinates.
pub(crate) struct RowsAtShift {
    pub diagonal: Vec<f64>,
    pub products: Matrix,
}

type Block = [f64; LANES];

impl BandForm {
    /// Both for every shift. The diagonal is ‖L⁻¹vᵢ‖² for the rows vᵢ of V, which lie side by side in the lanes.
    pub fn rows_at(&self, shifts: &[Shift<'_>]) -> Vec<RowsAtShift> {
        let n = self.vectors.rows;
        let at_once = (AT_HAND / (n.max(1) * size_of::<Block>())).max(1);
        let starts: Vec<usize> = (0..n).step_by(at_once * LANES).collect();
        // `[rows][shift][block]`: the diagonal, then the products.
        let found: Vec<Vec<Vec<Vec<Block>>>> = starts
            .into_par_iter()
            .map(|start| {
                let blocks: Vec<Vec<Block>> = (start..n.min(start + at_once * LANES))
                    .step_by(LANES)
                    .map(|first| self.rows_side_by_side(first))
                    .collect();
                let mut workspace = vec![[0.0; LANES]; n.next_multiple_of(STEP)];
                let mut at = |shift: &Shift<'_>| blocks.iter().map(|rows| shift.of(rows, &mut workspace)).collect();
                shifts.iter().map(&mut at).collect()
            })
            .collect();
        shifts
            .iter()
            .enumerate()
            .map(|(s, shift)| {
                let blocks = || found.iter().flat_map(|part| &part[s]);
                let column = |c: usize| blocks().flat_map(move |block| block[c]).take(n);
                let mut diagonal: Vec<f64> = column(0).collect();
                scale_by_power_of_two(&mut diagonal, -shift.factor.power);
                let columns = shift.coordinates.cols;
                let data = (1..=columns).flat_map(column).collect();
                RowsAtShift { diagonal, products: Matrix { rows: n, cols: columns, data } }
            })
            .collect()
    }

    fn rows_side_by_side(&self, first: usize) -> Vec<Block> {
        let n = self.vectors.rows;
        let count = LANES.min(n - first);
        let mut rows = vec![[0.0; LANES]; n.next_multiple_of(STEP)];
        for (j, place) in rows.iter_mut().enumerate().take(n) {
            place[..count].copy_from_slice(&self.vectors.col(j)[first..first + count]);
        }
        rows
    }
}

impl Shift<'_> {
    /// ‖L⁻¹v‖² of some rows, then their products with each of the coordinates.
    fn of(&self, rows: &[Block], workspace: &mut [Block]) -> Vec<Block> {
        let mut out = vec![[0.0; LANES]; 1 + self.coordinates.cols];
        let (diagonal, products) = out.split_at_mut(1);
        vectorize(
            #[inline(always)]
            || {
                for (t, sums) in products.iter_mut().enumerate() {
                    let mut total = [0.0; LANES];
                    for (row, factor) in rows.iter().zip(self.coordinates.col(t)) {
                        for l in 0..LANES {
                            total[l] = factor.mul_add(row[l], total[l]);
                        }
                    }
                    *sums = total;
                }
                diagonal[0] = self.factor.lower.solve(rows, workspace);
            },
        );
        out
    }
}
