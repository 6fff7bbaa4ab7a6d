//! The options of `mercer experiment`.

use clap::Args;

use super::values::{Style, repeat_count};
use crate::experiment::{Experiment, find};

/// Replay the experiments of the papers: their figures, ours, and why they differ
///
/// Without a name: the list. Each experiment prints its tables and, with --output, writes them (CSV and Markdown) and its
/// pictures (SVG) into a folder. Data sets are CSV files in the folder --data, the last column is what is predicted;
/// friedman1 is generated. Sets that are not there are named and left out.
///
/// Examples:
///
///   mercer experiment
///   mercer experiment figure1 --data sets --output results
///   mercer experiment table1 --data sets --output results --runs 10
///   mercer experiment all --quick --output results
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ExperimentOptions {
    /// The experiment, or all
    #[arg(value_parser = chosen)]
    pub name: Option<Chosen>,
    /// The folder with the data sets: concrete.csv, yacht.csv, …
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<String>,
    /// The folder for tables and pictures; it is made if it is not there
    #[arg(long, short, value_name = "FOLDER", help_heading = "Output")]
    pub output: Option<String>,
    /// Random divisions of each set (default: as in the paper, mostly 10; 2 with --quick)
    #[arg(long, value_name = "R", value_parser = repeat_count)]
    pub runs: Option<usize>,
    /// A few hundred rows and two divisions: to see what it does, not to believe its figures
    #[arg(long)]
    pub quick: bool,
    /// How the tables are printed
    #[arg(long, alias = "format", value_name = "STYLE", default_value = "text", help_heading = "Output")]
    pub style: Style,
    /// Print one JSON object instead of a report
    #[arg(long, conflicts_with = "style", help_heading = "Output")]
    pub json: bool,
}

/// What is to be run.
#[derive(Debug, Clone, Copy)]
pub enum Chosen {
    All,
    One(&'static Experiment),
}

fn chosen(name: &str) -> Result<Chosen, mercer::Error> {
    if name == "all" { Ok(Chosen::All) } else { find(name).map(Chosen::One) }
}
