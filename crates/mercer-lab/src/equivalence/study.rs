//! Weak or strong? How Φ moves when the training set does: over disjoint parts, bootstrap samples, every single deletion,
//! and deletions from growing subsets. Kernel and scaling stay those of all rows, so that the space of functions is one.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::algorithm::Algorithm;
use super::decay::Decay;
use super::map::Image;
use super::relation::Relation;
use super::training_set::{Agreement, TrainingSet};
use mercer::criterion::folds::shuffle;
use mercer::data::Design;
use mercer::kernel::{Kernel, Points};
use mercer::spectrum::Spectrum;
use mercer::{Error, Fitted, Matrix, Observer, Result};

/// What is compared, and on which sets.
#[derive(Clone)]
pub struct Study {
    /// A.
    pub from: Algorithm,
    /// B.
    pub to: Algorithm,
    /// A's parameter.
    pub parameter: f64,
    /// Disjoint parts of the rows; 0 leaves them out.
    pub parts: usize,
    /// Samples of as many rows with replacement.
    pub bootstrap: usize,
    /// Sizes of growing subsets, up to all rows.
    pub sizes: usize,
    /// Subsets of each size.
    pub draws: usize,
    /// The seed of everything that is drawn.
    pub seed: u64,
    /// Told of every stage; may stop the study.
    pub observer: Option<Observer>,
}

/// Φ on one training set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mapped {
    /// |Z|.
    pub examples: f64,
    /// Φ.
    pub image: Image,
}

/// Φ on one set and without each of its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Deleted {
    /// On the whole of the set.
    pub whole: Mapped,
    /// Without each row, in their order.
    pub without: Vec<Image>,
}

/// What a study found.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// A.
    pub from: Algorithm,
    /// B.
    pub to: Algorithm,
    /// A's parameter.
    pub parameter: f64,
    /// What is known of Φ without any rows.
    pub relation: Relation,
    /// How far f_A and f_B are apart on all rows; nothing where Φ has no value.
    pub agreement: Option<Agreement>,
    /// Φ on each part.
    pub parts: Vec<Mapped>,
    /// Φ on each bootstrap sample.
    pub bootstrap: Vec<Mapped>,
    /// Φ on all rows, and without each.
    pub deletions: Deleted,
    /// The same on subsets, sizes rising; all rows are the last.
    pub growth: Vec<Deleted>,
    /// How C(n) falls over those subsets.
    pub decay: Option<Decay>,
}

impl Study {
    /// Four parts, twenty bootstrap samples, six sizes with three draws each.
    pub fn new(from: Algorithm, to: Algorithm, parameter: f64) -> Self {
        Study { from, to, parameter, parts: 4, bootstrap: 20, sizes: 6, draws: 3, seed: 1, observer: None }
    }

    /// On the rows of a fit that kept its decomposition, for its first target.
    pub fn run(&self, fitted: &Fitted) -> Result<Comparison> {
        let spectrum = fitted.spectrum.as_ref().ok_or_else(|| {
            Error::argument("the fit", "one that kept its decomposition (keep_spectrum)", "one without")
        })?;
        let sets = Sets { design: &fitted.design, kernel: &**fitted.model.kernel(), offset: spectrum.has_offset() };
        self.from.check_kernel(sets.kernel)?;
        self.to.check_kernel(sets.kernel)?;
        let rows = fitted.design.rows();
        if self.parts > 0 && 2 * self.parts > rows {
            let must = format!("at most half the number of rows, {}, so that each has two", rows / 2);
            return Err(Error::argument("the number of parts", must, self.parts));
        }
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        self.stage("deleting every row")?;
        let set = TrainingSet::new(spectrum, fitted.design.y.col(0), rows as f64)?;
        // A parameter out of reach is refused on all rows; on other sets it is counted.
        set.place(self.from, self.parameter)?;
        let deletions = self.delete(&set)?;
        let agreement = match deletions.whole.image.parameter() {
            Some(image) => set.agreement((self.from, self.parameter), (self.to, image))?,
            None => None,
        };
        let parts = self.over_parts(&sets, &mut random)?;
        let bootstrap = self.over_bootstrap(&sets, &mut random)?;
        let mut growth = self.over_subsets(&sets, &mut random)?;
        growth.push(deletions.clone());
        let changes: Vec<(f64, f64)> =
            growth.iter().filter_map(|set| Some((set.whole.examples, set.change()?))).collect();
        // Rounding is no movement, and a jump no law.
        let is_finite = changes.iter().all(|(_, c)| c.is_finite());
        let moves =
            is_finite && changes.iter().any(|(_, c)| deletions.whole.image.parameter().is_some_and(|p| *c > 1e-11 * p));
        Ok(Comparison {
            from: self.from,
            to: self.to,
            parameter: self.parameter,
            relation: Relation::of(self.from, self.to),
            agreement,
            parts,
            bootstrap,
            deletions,
            growth,
            decay: Decay::fit(&changes).filter(|_| moves),
        })
    }

    fn over_parts(&self, sets: &Sets<'_>, random: &mut ChaCha8Rng) -> Result<Vec<Mapped>> {
        let order = shuffled(sets.design.rows(), random);
        let part = |k: usize| -> Vec<usize> { order.iter().copied().skip(k).step_by(self.parts).collect() };
        (0..self.parts)
            .map(|k| {
                self.stage("mapping on disjoint parts")?;
                sets.on(&part(k), None, |set| self.map(set))
            })
            .collect()
    }

    /// A row drawn twice is a row of weight 2.
    fn over_bootstrap(&self, sets: &Sets<'_>, random: &mut ChaCha8Rng) -> Result<Vec<Mapped>> {
        let n = sets.design.rows();
        (0..self.bootstrap)
            .map(|_| {
                self.stage("mapping on bootstrap samples")?;
                let mut counts = vec![0.0; n];
                (0..n).for_each(|_| counts[(random.next_u64() % n as u64) as usize] += 1.0);
                let rows: Vec<usize> = (0..n).filter(|row| counts[*row] > 0.0).collect();
                let counts: Vec<f64> = rows.iter().map(|row| counts[*row]).collect();
                sets.on(&rows, Some(&counts), |set| self.map(set))
            })
            .collect()
    }

    fn over_subsets(&self, sets: &Sets<'_>, random: &mut ChaCha8Rng) -> Result<Vec<Deleted>> {
        let mut found = Vec::new();
        for size in rising_sizes(sets.design.rows(), self.sizes) {
            for _ in 0..self.draws {
                self.stage("deleting from growing subsets")?;
                let mut rows = shuffled(sets.design.rows(), random);
                rows.truncate(size);
                found.push(sets.on(&rows, None, |set| self.delete(set))?);
            }
        }
        Ok(found)
    }

    fn map(&self, set: &TrainingSet<'_>) -> Result<Mapped> {
        // Morozov's bound may be out of reach on another set.
        let image = set.map(self.from, self.to, self.parameter).unwrap_or(Image::Unbound);
        Ok(Mapped { examples: set.examples(), image })
    }

    fn delete(&self, set: &TrainingSet<'_>) -> Result<Deleted> {
        Ok(Deleted { whole: self.map(set)?, without: set.map_deletions(self.from, self.to, self.parameter)? })
    }

    fn stage(&self, name: &'static str) -> Result<()> {
        match &self.observer {
            Some(observer) if !observer(name) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }
}

impl Deleted {
    /// C = max |Φ(Z) − Φ(Zⁱ)|: infinite where Φ(Zⁱ) has no value, nothing where Φ(Z) has none.
    pub fn change(&self) -> Option<f64> {
        let whole = self.whole.image.parameter()?;
        let change = |image: &Image| image.parameter().map_or(f64::INFINITY, |value| (value - whole).abs());
        self.without.iter().map(change).reduce(f64::max)
    }

    /// How many deletions leave a set on which Φ has no value.
    pub fn without_image(&self) -> usize {
        self.without.iter().filter(|image| image.parameter().is_none()).count()
    }

    /// Each deletion as a set of its own.
    pub fn mapped(&self) -> Vec<Mapped> {
        self.without.iter().map(|image| Mapped { examples: self.whole.examples - 1.0, image: *image }).collect()
    }
}

impl Comparison {
    /// The largest relative difference between Φ as computed on any of the sets and its formula, where there is one.
    pub fn formula_error(&self) -> Option<f64> {
        let mut sets: Vec<Mapped> = self.parts.iter().chain(&self.bootstrap).copied().collect();
        for deleted in &self.growth {
            sets.push(deleted.whole);
            sets.extend(deleted.mapped());
        }
        let errors = sets.iter().filter_map(|set| {
            let formula = self.relation.predict(self.parameter, set.examples)?;
            Some((set.image.parameter()? / formula - 1.0).abs())
        });
        errors.fold(None, |most: Option<f64>, e| Some(most.map_or(e, |m| m.max(e))))
    }
}

/// Rows that sets are drawn from.
struct Sets<'a> {
    design: &'a Design,
    kernel: &'a dyn Kernel,
    offset: bool,
}

impl Sets<'_> {
    /// Decomposes these rows, each counted so many times, and hands them to `body`.
    fn on<R>(
        &self,
        rows: &[usize],
        counts: Option<&[f64]>,
        body: impl FnOnce(&TrainingSet<'_>) -> Result<R>,
    ) -> Result<R> {
        let weight = |place: usize| {
            let own = self.design.weights.as_ref().map_or(1.0, |w| w[rows[place]]);
            own * counts.map_or(1.0, |counts| counts[place])
        };
        let is_weighted = self.design.weights.is_some() || counts.is_some();
        let weights: Option<Vec<f64>> = is_weighted.then(|| (0..rows.len()).map(weight).collect());
        let examples = counts.map_or(rows.len() as f64, |counts| counts.iter().sum());
        let y: Vec<f64> = rows.iter().map(|row| self.design.y.get(*row, 0)).collect();
        let spectrum = Spectrum::of_kernel(self.kernel, &self.points(rows), weights.as_deref(), self.offset)?;
        body(&TrainingSet::new(&spectrum, &y, examples)?)
    }

    fn points(&self, rows: &[usize]) -> Points {
        let all = &self.design.points;
        if self.kernel.is_precomputed() {
            // The features are the kernel's values with every row.
            return Points::new(&Matrix::from_fn(rows.len(), rows.len(), |i, j| all.feature(rows[j])[rows[i]]));
        }
        all.subset(rows)
    }
}

fn shuffled(rows: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    shuffle(&mut order, random);
    order
}

/// Sizes below `rows` in even ratios, from about a sixteenth of them (but ten rows at least).
fn rising_sizes(rows: usize, count: usize) -> Vec<usize> {
    let least = (rows as f64 / 16.0).max(10.0);
    let ratio = rows as f64 / least;
    if count < 2 || ratio <= 1.0 {
        return Vec::new();
    }
    let size = |k: usize| (least * ratio.powf(k as f64 / (count - 1) as f64)).round() as usize;
    let mut sizes: Vec<usize> = (0..count - 1).map(size).filter(|size| *size < rows).collect();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::rising_sizes;

    #[test]
    fn sizes_rise_to_the_whole() {
        assert_eq!(rising_sizes(320, 6), vec![20, 35, 61, 106, 184]);
        assert_eq!(rising_sizes(12, 4), vec![10, 11]);
        assert!(rising_sizes(10, 6).is_empty() && rising_sizes(5, 6).is_empty());
    }
}
