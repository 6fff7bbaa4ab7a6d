//! Tables of all single deletions from a tridiagonal form: every γ is a factor of T + γI and a few operations per entry of V.

use rayon::prelude::*;

use super::super::RowTables;
use super::super::envelope::Differences;
use super::super::far::Samples;
use super::super::interpolation::{LANES, Lanes};
use super::super::row_sums::{TargetSums, rounding_of, square};
use super::super::row_tables::{CHUNK, CLOSE_STEP, Chunk, NEAR, STEP, Shared, apart, grid_of};
use super::{FormTarget, TridiagonalForm, common_power, dot, scaled};
use crate::linalg::tridiagonal::{Factored, SumsOfRows};
use crate::linalg::{Matrix, multiply};

/// A row with less than this in directions without eigenvalue has perhaps nothing there.
const IN_DOUBT: f64 = 1e-4;

impl TridiagonalForm {
    /// Tables of all single deletions, as [`Spectrum::tabulate_rows`](super::super::Spectrum::tabulate_rows) makes them.
    pub fn tabulate_rows(&self, targets: &[&FormTarget], low: f64, high: f64, has_train: bool) -> Option<RowTables> {
        self.tabulate_rows_by(STEP, targets, low, high, has_train)
    }

    /// The same around one γ, so closely that polynomials err by no more than rounding; for exponents from 1 on.
    pub fn tabulate_rows_near(&self, targets: &[&FormTarget], log_gamma: f64) -> Option<RowTables> {
        let centre = log_gamma - libm::log(self.largest);
        self.tabulate_rows_by(CLOSE_STEP, targets, centre - NEAR, centre + NEAR, false)
    }

    fn tabulate_rows_by(
        &self,
        step: f64,
        targets: &[&FormTarget],
        low: f64,
        high: f64,
        has_train: bool,
    ) -> Option<RowTables> {
        let n = self.rows();
        if n < 2 {
            return None;
        }
        let grid = grid_of(self.largest, low, high, step);
        let gammas: Vec<f64> = (0..grid.points).map(|g| libm::exp(grid.log_gamma(g))).collect();
        let factors = self.form.factored_at(&gammas)?;
        let power = common_power(targets);
        let samples = Samples::of(&gammas, self.largest).with_differences(step);
        // Samples are points of the grid, then nodes beyond.
        let near = samples.gammas().iter().zip(&gammas).take_while(|(a, b)| a == b).count();
        let sampled = self.form.factored_at(&samples.gammas()[near..])?;
        let (mut sums, mut pulls) = (Vec::new(), Vec::new());
        for target in targets {
            let z = scaled(&target.z, target.power - power);
            let of = |factors: &[Factored<'_>]| -> Vec<(Vec<f64>, Vec<f64>)> {
                let with_image = |(factor, dual): (&Factored<'_>, Vec<f64>)| {
                    let image = factor.image(&z, &dual, self.largest);
                    (dual, image)
                };
                factors.iter().zip(Factored::solve_each(factors, &z)).map(with_image).collect()
            };
            let (whole, beyond) = (of(&factors), of(&sampled));
            sums.push(TargetSums {
                // Clipped predictions go by decompositions.
                clip: None,
                whole_pull: whole.iter().map(|(dual, _)| dot(&z, dual)).collect(),
                whole_norm: whole.iter().map(|(dual, image)| dot(dual, image)).collect(),
                whole_train: whole.iter().zip(&gammas).map(|((dual, _), gamma)| gamma * gamma * square(dual)).collect(),
                limit: dot(&z, &self.form.times(&z)),
                null_energy: libm::ldexp(square(&target.outside), 2 * (target.power - power)),
                null_target: scaled(&target.outside, target.power - power),
                centred: scaled(&target.centred, target.power - power),
                centred_energy: libm::ldexp(square(&target.centred), 2 * (target.power - power)),
                rounding: rounding_of(&scaled(&target.centred, target.power - power), target.mean, power),
            });
            // (T + γ)⁻¹z of all samples beside T(T + γ)⁻²z.
            let used = || factors.iter().take(near).zip(&whole).chain(sampled.iter().zip(&beyond));
            let mut pull: Vec<f64> = used().flat_map(|(_, (dual, _))| dual.iter().copied()).collect();
            pull.extend(samples.with_seconds(used()).flat_map(|(factor, (_, image))| factor.solve(image)));
            pulls.push(Matrix::from_columns(z.len(), pull.len() / z.len(), pull).unwrap_or_default());
        }
        let used: Vec<&Factored<'_>> = factors.iter().take(near).chain(&sampled).collect();
        let (first, second) = self.sums_of_points(&used, &samples);
        let (first, second) = (samples.first_at_all(first), samples.second_at_all(second));
        let duals: Vec<[Matrix; 2]> = pulls
            .iter()
            .map(|pull| {
                let [first, second] = apart(multiply(&self.points, pull), used.len());
                [samples.first_at_all(first), samples.second_at_all(second)]
            })
            .collect();
        let in_doubt = self.in_doubt();
        let limit_energy = |t: usize, start: usize, rows: usize, c: &Lanes| {
            let z = scaled(&targets[t].z, targets[t].power - power);
            std::array::from_fn(|l| {
                let point = self.place[start + if l < rows { l } else { 0 }];
                let share = c[l] / self.counts[point].sqrt();
                let left: Vec<f64> = z.iter().enumerate().map(|(k, z)| z - share * self.points.get(point, k)).collect();
                dot(&left, &self.form.times(&left))
            })
        };
        let shared = Shared {
            grid,
            gammas: &gammas,
            sums: &sums,
            derived: samples.derived(),
            differences: Differences::new(grid.step),
            power,
            has_train,
            largest: self.largest,
            root_weights: None,
            weight_sum: n as f64,
            offset: self.offset,
            null: &self.null,
            in_doubt: &in_doubt,
            energy_left: &limit_energy,
        };
        let starts: Vec<usize> = (0..n).step_by(CHUNK).collect();
        let blocks: Vec<_> = starts
            .into_par_iter()
            .flat_map_iter(|start| {
                let place = &self.place[start..n.min(start + CHUNK)];
                // A row is a share of its point, and the rest has no eigenvalue.
                let of_rows = |m: &Matrix, share: &dyn Fn(f64) -> f64| {
                    let shares: Vec<f64> = place.iter().map(|point| share(self.counts[*point])).collect();
                    let mut out = Matrix::zeros(place.len(), m.cols());
                    for g in 0..m.cols() {
                        let (source, entries) = (m.col(g), place.iter().zip(&shares));
                        out.col_mut(g).iter_mut().zip(entries).for_each(|(x, (p, share))| *x = share * source[*p]);
                    }
                    out
                };
                let (whole, root) = (|m: f64| 1.0 / m, |m: f64| 1.0 / m.sqrt());
                let chunk = Chunk {
                    start,
                    height: place.len(),
                    diagonal: [of_rows(&first, &whole), of_rows(&second, &whole)],
                    duals: duals.iter().map(|dual| [of_rows(&dual[0], &root), of_rows(&dual[1], &root)]).collect(),
                };
                let shared = &shared;
                (0..place.len()).step_by(LANES).map(|from| shared.block(&chunk, from)).collect::<Vec<_>>()
            })
            .collect();
        Some(shared.tables(blocks))
    }

    /// Σ q²/(d + γ) of every point at all samples, and Σ d q²/(d + γ)² at those that have second powers.
    fn sums_of_points(&self, factors: &[&Factored<'_>], samples: &Samples) -> (Matrix, Matrix) {
        let derived = samples.derived();
        let others: Vec<&Factored<'_>> = samples.with_seconds(factors.iter().copied()).collect();
        let SumsOfRows { first_alone: middle, first: ends, mut second } =
            Factored::sums_of_rows(&factors[derived.clone()], &others, &self.points);
        let first: Vec<&[f64]> = (0..factors.len())
            .map(|g| match g {
                g if derived.contains(&g) => middle.col(g - derived.start),
                g => ends.col(if g < derived.start { g } else { g - derived.len() }),
            })
            .collect();
        // Σ d q²/(d + γ)² = Σ q²/(d + γ) − γ Σ q²/(d + γ)².
        for (g, gamma) in samples.with_seconds(samples.gammas().iter()).enumerate() {
            let first = ends.col(g);
            second.col_mut(g).iter_mut().zip(first).for_each(|(second, first)| *second = first - gamma * *second);
        }
        (Matrix::from_columns(self.points.rows(), factors.len(), first.concat()).unwrap_or_default(), second)
    }

    /// Leave-one-out residuals at each γ, one rows × γ for every target, in its own units; `None` where T + γI is not definite.
    pub fn residuals_at(&self, targets: &[&FormTarget], gammas: &[f64]) -> Option<Vec<Matrix>> {
        let factors = self.form.factored_at(gammas)?;
        let alone: Vec<&Factored<'_>> = factors.iter().collect();
        let diagonal = Factored::sums_of_rows(&alone, &[], &self.points).first_alone;
        let of_target = |target: &&FormTarget| {
            let duals = Factored::solve_each(&factors, &target.z).concat();
            let duals = Matrix::from_columns(target.z.len(), gammas.len(), duals).unwrap_or_default();
            let dual = multiply(&self.points, &duals);
            let residual = |i: usize, g: usize| {
                let (point, gamma) = (self.place[i], gammas[g]);
                let count = self.counts[point];
                let own = dual.get(point, g) / count.sqrt() + target.outside[i] / gamma;
                libm::ldexp(own / (diagonal.get(point, g) / count + self.null[i] / gamma), target.power)
            };
            Matrix::from_fn(self.rows(), gammas.len(), residual)
        };
        Some(targets.iter().map(of_target).collect())
    }

    /// Which rows have some part at rounding level that is small enough to be none: a spectrum gives it as their part without
    /// eigenvalue, here it is what a ridge as small as rounding makes of it.
    fn in_doubt(&self) -> Vec<bool> {
        let factor = if self.has_noise { self.form.factored(self.noise) } else { None };
        let first = factor.map(|factor| Factored::sums_of_rows(&[&factor], &[], &self.points).first_alone);
        let is_in_doubt = |(point, null): (&usize, &f64)| {
            let part = null + first.as_ref().map_or(0.0, |first| self.noise * first.get(*point, 0));
            part > 0.0 && part < IN_DOUBT
        };
        self.place.iter().zip(&self.null).map(is_in_doubt).collect()
    }
}
