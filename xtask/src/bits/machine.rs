//! The machine class: what decides how linear algebra is blocked and vectorised, and with it how sums are rounded.

use std::collections::BTreeSet;
use std::fs;

/// Instruction sets between which linear algebra chooses.
const SETS: [&str; 9] = ["sse4_2", "avx", "avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl", "asimd"];

/// One line: processor, instruction sets, cache sizes, system.
pub fn class() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
        line.and_then(|line| line.split_once(':')).map_or("", |(_, value)| value.trim())
    };
    let known: BTreeSet<&str> = ["flags", "Features"].iter().flat_map(|name| field(name).split_whitespace()).collect();
    let sets: Vec<&str> = SETS.into_iter().filter(|set| known.contains(set)).collect();
    let caches: Vec<String> = (0..4)
        .filter_map(|index| {
            let read = |what: &str| {
                let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}");
                fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
            };
            let kind = read("type").filter(|kind| kind != "Instruction")?;
            let letter = if kind == "Data" { "d" } else { "" };
            Some(format!("L{}{letter} {}", read("level")?, read("size")?))
        })
        .collect();
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    format!(
        "{arch}-{os}; {} (family {}, model {}); {}; {}",
        field("model name"),
        field("cpu family"),
        field("model"),
        sets.join(" "),
        caches.join(", ")
    )
}
