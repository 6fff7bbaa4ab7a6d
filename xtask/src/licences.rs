//! `cargo xtask licences`: every dependency has a licence that deny.toml allows, and no two versions beyond those it skips.
//!
//! A small part of what `cargo deny check` does, without installing it; the advisories need cargo-deny.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::build;

const HELP: &str = "\
Check licences and duplicate versions of the dependencies against deny.toml

Usage: cargo xtask licences

Exit codes: 0 all allowed, 1 some are not, 2 the check failed.
";

/// Whether all licences are allowed.
pub fn run(line: Vec<String>) -> Result<bool> {
    if !line.is_empty() {
        print!("{HELP}");
        return Ok(line == ["--help"]);
    }
    let rules = std::fs::read_to_string(build::root().join("deny.toml")).context("deny.toml")?;
    let allowed = strings(&rules, "allow = [");
    let skipped = strings(&rules, "skip = [");
    ensure!(!allowed.is_empty(), "deny.toml has no list allow = [");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let words = ["metadata", "--format-version", "1", "--locked"];
    let done = Command::new(cargo).args(words).current_dir(build::root()).output()?;
    ensure!(done.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&done.stderr).trim());
    let metadata: Value = serde_json::from_slice(&done.stdout)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let mut wrong = 0;
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        let (name, version) = (package["name"].as_str().unwrap_or("?"), package["version"].as_str().unwrap_or("?"));
        versions.entry(name).or_default().insert(version);
        let licence = package["license"].as_str().unwrap_or("none");
        if !allows(licence, &allowed).with_context(|| format!("{name} {version}: the licence {licence:?}"))? {
            println!("{name} {version}: {licence} is not allowed by deny.toml");
            wrong += 1;
        }
    }
    for (name, mut versions) in versions {
        versions.retain(|version| !skipped.iter().any(|skip| is_skipped(skip, name, version)));
        if versions.len() > 1 {
            let versions: Vec<&str> = versions.into_iter().collect();
            println!("{name}: {} side by side; update, or add to skip in deny.toml", versions.join(" and "));
            wrong += 1;
        }
    }
    println!("{} packages, {wrong} to look at", packages.len());
    Ok(wrong == 0)
}

/// The first text in quotes of each line of a list.
fn strings(text: &str, head: &str) -> Vec<String> {
    let lines =
        text.lines().skip_while(|line| !line.starts_with(head)).skip(1).take_while(|line| !line.starts_with(']'));
    lines.filter_map(|line| line.split('"').nth(1)).map(str::to_owned).collect()
}

/// `syn@1` skips syn 1.0.109, `getrandom@0.2` skips getrandom 0.2.17.
fn is_skipped(skip: &str, name: &str, version: &str) -> bool {
    skip.split_once('@').is_some_and(|(known, prefix)| known == name && version.starts_with(&format!("{prefix}.")))
}

/// An SPDX expression: names joined by OR, AND and brackets; `A/B` is an old way to write OR.
fn allows(expression: &str, allowed: &[String]) -> Result<bool> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ").replace(" WITH ", "+with+");
    let words: Vec<String> = spaced.split_whitespace().map(|word| word.replace("+with+", " WITH ")).collect();
    let mut at = 0;
    let value = any(&words, &mut at, allowed)?;
    ensure!(at == words.len(), "unexpected {:?}", words[at]);
    Ok(value)
}

fn any(words: &[String], at: &mut usize, allowed: &[String]) -> Result<bool> {
    let mut value = every(words, at, allowed)?;
    while words.get(*at).is_some_and(|word| word == "OR") {
        *at += 1;
        value |= every(words, at, allowed)?;
    }
    Ok(value)
}

fn every(words: &[String], at: &mut usize, allowed: &[String]) -> Result<bool> {
    let mut value = one(words, at, allowed)?;
    while words.get(*at).is_some_and(|word| word == "AND") {
        *at += 1;
        value &= one(words, at, allowed)?;
    }
    Ok(value)
}

fn one(words: &[String], at: &mut usize, allowed: &[String]) -> Result<bool> {
    let Some(word) = words.get(*at) else { bail!("it ends early") };
    *at += 1;
    if word != "(" {
        return Ok(allowed.contains(word));
    }
    let value = any(words, at, allowed)?;
    ensure!(words.get(*at).is_some_and(|word| word == ")"), "a bracket is open");
    *at += 1;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_with_their_brackets() {
        let allowed = ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
        for right in [
            "MIT",
            "GPL-3.0 OR MIT",
            "Unlicense/MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(allows(right, &allowed).unwrap(), "{right}");
        }
        for wrong in ["GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "GPL-3.0 OR MIT AND BSD"] {
            assert!(!allows(wrong, &allowed).unwrap(), "{wrong}");
        }
        assert!(allows("(MIT", &allowed).is_err() && allows("", &allowed).is_err());
        assert!(is_skipped("syn@1", "syn", "1.0.109") && !is_skipped("syn@1", "syn", "10.0.0"));
    }
}
