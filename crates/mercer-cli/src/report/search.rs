//! What a named selection tried: kernels, the best points, and the map of the surface.

use mercer::Fitted;
use mercer::criterion::Criterion;

use super::{Page, abbreviated, criterion_name};
use crate::args::Style;
use crate::chart::heat::{self, Steps};
use crate::grid::{Cell, Grid};
use crate::surface::{self, Point};

const MOST_KERNELS: usize = 12;
const BEST_POINTS: usize = 5;

/// How values of a criterion are shown: errors as roots, in units of the target.
struct Shown {
    name: String,
    is_root: bool,
}

impl Shown {
    fn of(criterion: &Criterion, targets: usize) -> Self {
        match (criterion.is_squared_error(), targets) {
            (true, 1) => Shown { name: format!("{} RMSE", criterion_name(&criterion.spec())), is_root: true },
            (true, _) => Shown { name: format!("{}, in variances", criterion_name(&criterion.spec())), is_root: false },
            (false, _) => Shown { name: criterion_name(&criterion.spec()), is_root: false },
        }
    }

    fn value(&self, value: f64) -> f64 {
        if self.is_root { value.sqrt() } else { value }
    }
}

/// Lists kernels and best points, and gives back the map where there is a surface of both exponents and λ. With a
/// single kernel and exponent, and λ from everywhere, the report's other lines have said it all.
pub fn lines(page: &mut Page, fitted: &Fitted, is_named: bool) -> Option<String> {
    let criterion = surface::criterion(fitted)?;
    let chosen = fitted.tried.iter().find(|tried| tried.is_chosen)?;
    let first = chosen.surfaces().first()?;
    if !is_named {
        return None;
    }
    let shown = Shown::of(&criterion, fitted.design.targets.len());
    if fitted.tried.len() > 1 {
        kernels(page, fitted, &shown);
    }
    if first.exponents.len() > 1 {
        best_points(page, fitted, &shown);
    }
    let values: Vec<Vec<f64>> =
        first.scores.iter().map(|row| row.iter().map(|score| shown.value(score.value)).collect()).collect();
    let steps = if criterion.is_squared_error() { Steps::Shares } else { Steps::Differences };
    let title = format!("{} over exponent and λ; darker is better", shown.name);
    let best = (first.best.exponent, first.best.lambda);
    let map = heat::map(&first.exponents, &first.lambdas, &values, best, &steps, &title);
    (!map.is_empty()).then_some(map)
}

fn kernels(page: &mut Page, fitted: &Fitted, shown: &Shown) {
    let mut order: Vec<usize> = (0..fitted.tried.len()).collect();
    // The chosen one leads even where another equals it to all digits that count.
    order.sort_by(|a, b| {
        let (a, b) = (&fitted.tried[*a], &fitted.tried[*b]);
        b.is_chosen.cmp(&a.is_chosen).then(a.score.total_cmp(&b.score))
    });
    let mut grid =
        Grid::new(vec![format!("{} kernels", order.len()), "exponent".into(), "λ".into(), shown.name.clone()]);
    for tried in order.iter().take(MOST_KERNELS).map(|index| &fitted.tried[*index]) {
        let best = tried.surfaces().first().map(|surface| surface.best);
        let value = shown.value(tried.score);
        grid.row(vec![
            Cell::Text(abbreviated(&tried.kernel.spec(), 60)),
            best.map_or(Cell::Nothing, |best| Cell::Number(best.exponent)),
            best.map_or(Cell::Nothing, |best| Cell::Number(best.lambda)),
            if tried.is_chosen { Cell::Best(value) } else { Cell::Number(value) },
        ]);
    }
    page.blank();
    page.block(&grid.render(Style::Text));
    if order.len() > MOST_KERNELS {
        page.block(&format!("  … {} more\n", order.len() - MOST_KERNELS));
    }
    let screened = fitted.tried.iter().filter(|tried| tried.low_rank.is_some()).count();
    if screened > 0 {
        page.block(&format!(
            "  {screened} of them judged on a low-rank factor of their matrix, the chosen one fitted on all of it\n"
        ));
    }
}

fn best_points(page: &mut Page, fitted: &Fitted, shown: &Shown) {
    let mut points: Vec<Point> = surface::points(fitted);
    points.retain(|point| point.surface == 0 && point.value.is_finite());
    points.sort_by(|a, b| a.value.total_cmp(&b.value));
    let several = fitted.tried.len() > 1;
    let mut columns = vec!["exponent".into(), "λ".into(), shown.name.clone()];
    if several {
        columns.insert(0, "best points".into());
    }
    let mut grid = Grid::new(columns);
    for (rank, point) in points.iter().take(BEST_POINTS).enumerate() {
        let value = shown.value(point.value);
        let value = if rank == 0 { Cell::Best(value) } else { Cell::Number(value) };
        let mut cells = vec![Cell::Number(point.exponent), Cell::Number(point.lambda), value];
        if several {
            cells.insert(0, Cell::Text(abbreviated(&fitted.tried[point.kernel].kernel.spec(), 60)));
        }
        grid.row(cells);
    }
    page.blank();
    if !several {
        page.block(&format!("  best of {} points\n", points.len()));
    }
    page.block(&grid.render(Style::Text));
}
