//! What the program knows about itself: kernels, losses, completions, man pages.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use clap::ValueEnum;
use mercer::table::Entry;

use crate::args::{Listed, help};
use crate::outcome::Done;

/// One list, or all of them.
pub fn list(what: Option<Listed>) -> anyhow::Result<Done> {
    let one = |what: &Listed| match what {
        Listed::Kernels => kernels(),
        Listed::Losses => losses(),
        Listed::Penalties => penalties(),
        Listed::Criteria => criteria(),
    };
    let text = match &what {
        Some(what) => one(what),
        None => Listed::value_variants().iter().map(one).collect::<Vec<_>>().join("\n"),
    };
    write!(std::io::stdout(), "{text}")?;
    Ok(Done::Certified)
}

fn kernels() -> String {
    let mut text = String::from("Kernels k(x, x′), as they are written after --kernel:\n\n");
    mercer::kernel::all().into_iter().for_each(|entry| describe(&mut text, entry));
    text.push_str(
        "\nAny of them may be normalised: normalized-additive-spline is k(x,x′)/√(k(x,x) k(x′,x′)).\n\
         Sums, products and multiples: \"0.5*linear + gaussian(lengthscale=2)*spline0\".\n\
         Values are numbers, lists for one per feature, or rules: gaussian(lengthscale=[1,2,0.5]),\n\
         matern32(lengthscale=median). With ranges a spec stands for many: gaussian(lengthscale=0.5..50:10).\n",
    );
    text
}

fn losses() -> String {
    let mut text = String::from(
        "Losses ℓ(y, v) of a prediction v, as they are written after --loss; r = y − v. Mercer minimises\n\
         (1/n) Σ ℓ(y, f(x) + b) + λ‖f‖ᵐ, m ≥ 1 (squared: every m > 0).\n\n",
    );
    mercer::loss::all().into_iter().for_each(|entry| describe(&mut text, entry));
    text.push_str(
        "\nThe last three read the target as classes (labels y = ±1, one model per class if there are more than two);\n\
         --classify lets the others do so too. With ranges a spec stands for choices: huber(threshold=0.1..10:5).\n\n\
         Names they go by, after --method:\n\n",
    );
    text.push_str(&crate::learn::aliases::list());
    text
}

fn penalties() -> String {
    let mut text =
        String::from("Penalties, as they are written after --penalty; w: the coefficients of a linear function.\n\n");
    mercer::penalty::all().into_iter().for_each(|entry| describe(&mut text, entry));
    text.push_str(
        "\nAll but norm-power are for the squared loss; λ is chosen by kfold:10 (aic and bic for the sparse ones) unless it is\n\
         given. In the place of a penalty: --norm-at-most T, --train-error-at-most D.\n",
    );
    text
}

fn criteria() -> String {
    let mut text = String::from(
        "What kernel, exponent and λ are chosen by, as it is written after --criterion; smaller is better.\n\
         R: training mean square, H: hat matrix, n: rows, p = tr H/n.\n\n",
    );
    mercer::criterion::all().into_iter().for_each(|entry| describe(&mut text, entry));
    text.push_str(
        "\ntri and adj need rows without target, which dee can use: mercer fit --unlabelled FILE.\n\
         With --group, loo is logo, and kfold keeps the rows of one group together; forward counts groups, whose rows must\n\
         follow each other. forward takes the rows in the order of the file, the earliest first; no row is predicted from\n\
         later ones.\n\
         With --loss other than squared: kfold and forward (by refitting) and loo (approximate).\n",
    );
    text
}

/// Name, formula and parameters of one member of an axis.
fn describe<T>(text: &mut String, entry: &Entry<T>) {
    let _ = writeln!(text, "  {:<29}{}", entry.name, entry.formula);
    for parameter in entry.parameters {
        let _ = writeln!(text, "  {:<29}  {} ({}): {}", "", parameter.name, parameter.default, parameter.about);
    }
}

pub fn completions(shell: clap_complete::Shell) -> anyhow::Result<Done> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut help::command(), "mercer", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(Done::Certified)
}

pub fn pages(folder: &Path) -> anyhow::Result<Done> {
    let mut root = help::command();
    root.build();
    let write = |command: clap::Command, name: String| -> anyhow::Result<()> {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).title(name.to_uppercase()).render(&mut page)?;
        let path = folder.join(format!("{name}.1"));
        mercer_io::atomic::save(&path, with_examples(&String::from_utf8_lossy(&page)).as_bytes())?;
        writeln!(std::io::stdout(), "{}", path.display())?;
        Ok(())
    };
    write(root.clone(), "mercer".into())?;
    for command in root.get_subcommands().filter(|command| command.get_name() != "help" && !command.is_hide_set()) {
        let name = format!("mercer-{}", command.get_name());
        write(command.clone(), name)?;
    }
    Ok(Done::Certified)
}

/// Puts the lines that stay as they are into blocks that are neither filled nor hyphenated, so that they can be copied.
fn with_examples(page: &str) -> String {
    let mut text = String::new();
    let mut is_inside = false;
    for line in page.lines() {
        let is_verbatim = help::is_verbatim(line);
        match (is_inside, is_verbatim) {
            (false, true) => text.push_str(".EX\n"),
            (true, false) => text.push_str(".EE\n"),
            _ => {}
        }
        is_inside = is_verbatim;
        text.push_str(&help::spaced(line));
        text.push('\n');
    }
    if is_inside {
        text.push_str(".EE\n");
    }
    text
}
